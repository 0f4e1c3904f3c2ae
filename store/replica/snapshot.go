package replica

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"memfs/store"
)

// Snapshot takes one consistent look at what differs between tree and base,
// and at the memories and paths asked for. What turns out to be clean is not
// looked at again, so it costs what changed since the last one.
func (r *Replica) Snapshot(ids, paths []string) Snapshot {
	r.hashDirty()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tree
	s := Snapshot{Time: r.o.Now(), MarkerOK: r.markerOK(), Paths: make(map[string]PathState, len(paths)), BaseCount: len(t.bases)}
	s.Counted = t.recent(s.Time)
	t.forgetVacancies(nanos(s.Time))

	wanted := make(map[string]struct{}, len(ids)+len(t.dirtyMemories))
	for id := range t.dirtyFiles {
		r.settleFile(t.nodes[id], wanted)
	}
	for id := range t.dirtyMemories {
		b := t.bases[id]
		if t.clean(b) {
			b.touched, b.first = 0, 0
			r.pardon(b)
			delete(t.dirtyMemories, id)
			continue
		}
		wanted[id] = struct{}{}
	}
	for _, id := range ids {
		wanted[id] = struct{}{}
	}
	for id := range wanted {
		if b := t.bases[id]; b != nil {
			s.Memories = append(s.Memories, r.memory(b))
		}
	}
	slices.SortFunc(s.Memories, func(a, b Memory) int {
		return cmp.Or(cmp.Compare(a.Base.Path, b.Base.Path), cmp.Compare(a.Base.ID, b.Base.ID))
	})
	for ino := range t.dirtyFiles {
		if n := t.nodes[ino]; n != nil && t.eligible(n) {
			if _, known := t.basePath[n.path()]; !known {
				s.Files = append(s.Files, *r.describe(n))
			}
		}
	}
	slices.SortFunc(s.Files, func(a, b File) int {
		return cmp.Or(a.Changed().Compare(b.Changed()), cmp.Compare(a.Ino, b.Ino))
	})
	for _, path := range paths {
		s.Paths[path] = r.pathState(path)
	}
	for _, m := range s.Memories {
		if m.At == nil { // it may have to come back
			s.Paths[m.Base.Path] = r.pathState(m.Base.Path)
		}
	}
	for _, n := range t.strays {
		s.Strays = append(s.Strays, Stray{Ino: n.ino, Gen: n.gen, MemoryID: n.replacedID, Path: n.replacedPath,
			SHA: n.content.hash(), Written: when(n.written)})
	}
	slices.SortFunc(s.Strays, func(a, b Stray) int { return cmp.Compare(a.Ino, b.Ino) })
	for _, send := range t.sends {
		send.Missed = r.awaited.missed[send.Seq]
		s.Sends = append(s.Sends, send)
	}
	slices.SortFunc(s.Sends, func(a, b Send) int { return cmp.Compare(a.Seq, b.Seq) })
	return s
}

// Changed is when the file last changed here in any way.
func (f File) Changed() time.Time {
	if f.Moved.After(f.Written) {
		return f.Moved
	}
	return f.Written
}

// hashDirty hashes changed contents one by one, so that the lock is never held
// for long.
func (r *Replica) hashDirty() {
	r.mu.RLock()
	inos := make([]Ino, 0, len(r.tree.dirtyFiles))
	for ino := range r.tree.dirtyFiles {
		inos = append(inos, ino)
	}
	r.mu.RUnlock()
	for _, ino := range inos {
		r.mu.Lock()
		if n := r.tree.nodes[ino]; n != nil && !n.local {
			n.content.hash()
		}
		r.mu.Unlock()
	}
}

// settleFile looks at one file that may differ: a clean or scratch one is not
// looked at again, for the others the memories concerned are wanted.
func (r *Replica) settleFile(n *node, wanted map[string]struct{}) {
	t := r.tree
	if n == nil || n.parent == nil {
		return
	}
	id, atBase := t.basePath[n.path()]
	switch {
	case atBase && n.content.hash() == t.bases[id].SHA && t.clean(t.bases[id]):
		n.agree()
		n.failed = false
		r.release(n, t.bases[id])
		if r.meantEmpty(n) {
			delete(t.dirtyFiles, n.ino)
		}
		return
	case !t.eligible(n):
		if n.memory == "" {
			delete(t.dirtyFiles, n.ino)
			return
		}
	case n.since == 0:
		n.since = nanos(r.o.Now())
	}
	if atBase {
		wanted[id] = struct{}{}
	}
	if n.memory != "" {
		wanted[n.memory] = struct{}{}
	}
}

// meantEmpty reports whether a file that was emptied and sent so is meant to be
// empty, and notes it: until it has rested, a kill brings the text before back
// (R16). It is true for all other files.
func (r *Replica) meantEmpty(n *node) bool {
	if n.before == nil || r.closed {
		return true
	}
	return n.restsEmpty(nanos(r.o.Now())) && r.commit(true, record{kind: recSynced, ino: uint64(n.ino)}) == nil
}

// MeantEmpty notes that files were emptied and have come to rest so: a kill does
// not bring the text before back any more, whether they are sent or not (R16).
func (r *Replica) MeantEmpty(files []File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var records []record
	for _, f := range files {
		if n := r.tree.nodes[f.Ino]; n != nil && n.gen == f.Gen && n.before != nil {
			records = append(records, record{kind: recSynced, ino: uint64(n.ino)})
		}
	}
	if len(records) == 0 {
		return nil
	}
	return r.commit(true, records...)
}

// release lets go of the bytes of a file that the store has, once they are an
// object that can be read back.
func (r *Replica) release(n *node, b *agreed) {
	if r.closed || r.ending {
		return // only looked at, or soon over
	}
	c := content{sha: b.SHA, hashed: true, size: b.Size, memory: b.ID, version: b.VersionID}
	if n.content.buf != nil {
		if err := r.objects.Cache(b.SHA, n.content.buf); err != nil {
			return // kept in memory until there is room
		}
	}
	if n.content.buf != nil || n.content.memory != b.ID {
		if err := r.commit(true, contentRecord(n.ino, c, recContent)); err != nil {
			return
		}
	}
	n.content = c
}

func contentRecord(ino Ino, c content, k kind) record {
	rec := record{kind: k, ino: uint64(ino), size: uint64(c.size), sha: c.sha, id: c.memory, version: c.version}
	if c.memory == "" {
		rec.flags = flagLocal
	}
	return rec
}

func (r *Replica) memory(b *agreed) Memory {
	t := r.tree
	m := Memory{Base: b.Base, Touched: when(b.touched), First: when(b.first), Verdict: b.verdict}
	if n, ok := t.at(b.Path); ok && t.eligible(n) {
		m.At = r.describe(n)
	}
	if n := b.carrier; n != nil && t.eligible(n) {
		m.Carrier = r.describe(n)
	}
	return m
}

func (r *Replica) describe(n *node) *File {
	return &File{Ino: n.ino, Gen: n.gen, Path: n.path(), SHA: n.content.hash(), Size: n.content.size, MemoryID: n.memory,
		Written: when(n.written), Moved: when(n.moved), DirtySince: when(n.dirtySince()), Emptied: n.emptied && n.content.size == 0,
		Failed: n.failed || n.damaged, Scratch: n.local, Fetched: r.here(n.content)}
}

// here reports whether a content can be read without the store.
func (r *Replica) here(c content) bool { return c.buf != nil || c.size == 0 || r.objects.Has(c.sha) }

func (r *Replica) pathState(path string) PathState {
	t := r.tree
	n, ok := t.at(path)
	switch {
	case n == nil:
		return PathState{Kind: Free}
	case !ok || !n.dir:
		s := PathState{Kind: IsFile}
		if !ok {
			s.Kind = BelowFile
		}
		if !t.isMarker(n) {
			s.File = r.describe(n)
		}
		return s
	}
	s := PathState{Kind: IsDir}
	n.files(func(f *node) { s.Below = append(s.Below, *r.describe(f)) })
	return s
}

// Content returns a file's bytes in the state that a File described; ErrMoved
// where it is in another by now.
func (r *Replica) Content(ino Ino, gen uint64) ([]byte, error) {
	r.mu.RLock()
	n, err := r.file(ino)
	if err != nil {
		r.mu.RUnlock()
		return nil, err
	}
	if n.gen != gen {
		r.mu.RUnlock()
		return nil, ErrMoved
	}
	c := n.content
	if c.buf != nil {
		c.buf = slices.Clone(c.buf)
	}
	r.mu.RUnlock()
	return r.load(context.Background(), c)
}

// broughtFor is how long a content waits for the file that is to have it.
const broughtFor = 10 * time.Minute

// PutContent keeps a content learnt from the store, checked against its hash
// (store.ErrProtocol), for a file that gets it soon.
func (r *Replica) PutContent(sha store.SHA, text []byte) error {
	if store.Hash(text) != sha {
		return store.ErrProtocol
	}
	r.mu.Lock()
	r.brought[sha] = r.o.Now()
	r.mu.Unlock()
	if err := r.objects.Cache(sha, text); err != nil {
		r.o.Log.Debug("content not kept", zap.String("store", r.o.Store.ID), zap.Error(err))
		return err
	}
	return nil
}
