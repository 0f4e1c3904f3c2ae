package replica

import (
	"errors"
	"fmt"

	"memfs/store"
)

// maxSize is over what any file here may have.
const maxSize = 1 << 30

// errUnloaded: a record builds on a content that is not in memory.
var errUnloaded = errors.New("content not loaded")

// apply makes one record true. Records come from calls that were checked, so
// whatever does not fit is damage, and is reported instead of guessed at.
func (t *tree) apply(r *record) error {
	switch r.kind {
	case recNode:
		return t.applyNode(r)
	case recUnlink:
		return t.applyUnlink(r)
	case recRename:
		return t.applyRename(r)
	case recBase:
		t.applyBase(r)
	case recUnbase:
		t.applyUnbase(r.id)
	case recSent:
		t.applySent(r)
	case recSettled:
		delete(t.sends, r.seq)
	case recTouched:
		if b := t.bases[r.id]; b != nil {
			b.touched, b.first = int64(r.time), int64(r.since)
			t.dirtyMemories[r.id] = struct{}{}
		}
	case recVerdict:
		if b := t.bases[r.id]; b != nil {
			b.verdict = Verdict(r.flags)
			if b.verdict != Unjudged { // to be forgotten once it is back
				t.dirtyMemories[r.id] = struct{}{}
			}
		}
	case recCounted:
		t.applyCounted(r)
	case recCounters:
		t.nextIno = max(t.nextIno, Ino(r.ino))
		t.nextSeq = max(t.nextSeq, r.seq)
	default:
		n := t.nodes[Ino(r.ino)]
		if n == nil {
			return fmt.Errorf("%w: record %d for unknown inode %d", errGarbled, r.kind, r.ino)
		}
		return t.applyTo(n, r)
	}
	return nil
}

// applyTo applies the records that concern one inode.
func (t *tree) applyTo(n *node, r *record) error {
	if n.dir && r.kind != recAttr {
		return fmt.Errorf("%w: record %d for directory %d", errGarbled, r.kind, r.ino)
	}
	switch r.kind {
	case recWrite:
		return t.applyWrite(n, r)
	case recTruncate:
		return t.applyTruncate(n, r)
	case recAttr:
		n.mode, n.uid, n.gid = uint32(r.mode), uint32(r.uid), uint32(r.gid)
		n.atime, n.mtime, n.ctime = int64(r.atime), int64(r.mtime), int64(r.ctime)
	case recContent:
		t.resize(n, int64(r.size))
		n.content = r.content()
		n.gen++
	case recBefore:
		c := r.content()
		n.before = &c
	case recDetach:
		t.applyDetach(n, int64(r.time))
	case recLift:
		if n.parent != nil {
			t.displace(n)
		}
	case recPlace:
		dir := t.nodes[Ino(r.parent)]
		if n.parent != nil || dir == nil || !dir.dir || dir.children[r.name] != nil {
			return fmt.Errorf("%w: inode %d has no place", errGarbled, n.ino)
		}
		t.place(dir, n, r.name)
		n.unseen = true
		n.ctime = int64(r.time)
		dir.touch(n.ctime)
		t.dirtyFiles[n.ino] = struct{}{}
		n.gen++
	case recCarry:
		t.carry(n, r.id)
		n.agree() // see applyBase
	case recSynced:
		n.before = nil
	case recFailed:
		n.failed = true
	case recSaved:
		delete(t.strays, n.ino)
		t.reap(n)
	case recDirty:
		n.written, n.moved, n.since = int64(r.time), int64(r.mtime), int64(r.since)
		n.emptied, n.failed = r.flags&flagEmptied != 0, r.flags&flagFailed != 0
		if n.replaced {
			n.replacedID, n.replacedPath = r.id, r.path
			if r.flags&flagKept == 0 {
				t.strays[n.ino] = n
			}
			break
		}
		t.dirtyFiles[n.ino] = struct{}{}
	}
	return nil
}

func (r *record) content() content {
	return content{sha: r.sha, size: int64(r.size), memory: r.id, version: r.version, hashed: true}
}

func (t *tree) applyNode(r *record) error {
	n := &node{
		ino: Ino(r.ino), dir: r.flags&flagDir != 0, made: r.flags&flagMade != 0, replaced: r.flags&flagReplaced != 0,
		mode: uint32(r.mode), uid: uint32(r.uid), gid: uint32(r.gid),
		atime: int64(r.atime), mtime: int64(r.mtime), ctime: int64(r.ctime), btime: int64(r.btime),
	}
	if n.ino == Root { // a checkpoint's first record: the root's attributes
		n.made, n.dir = true, true
		t.root, t.nodes[Root] = n, n
		return nil
	}
	if t.nodes[n.ino] != nil {
		return fmt.Errorf("%w: inode %d made twice", errGarbled, n.ino)
	}
	if !n.dir {
		n.content, n.emptied = empty(), n.made
	}
	if r.flags&flagOrphan == 0 {
		dir := t.nodes[Ino(r.parent)]
		if dir == nil || !dir.dir || dir.children[r.name] != nil {
			return fmt.Errorf("%w: inode %d has no place", errGarbled, n.ino)
		}
		t.place(dir, n, r.name)
		n.unseen = true
		dir.touch(n.ctime)
		if n.made && !n.dir {
			n.written = n.ctime
			t.markFile(n, n.ctime)
			t.occupy(n, n.ctime)
			t.inherit(n, "")
		}
	}
	t.nodes[n.ino] = n
	n.made = n.made || n.local // which a checkpoint does not say of files
	if n.made {
		t.made++
	}
	t.nextIno = max(t.nextIno, n.ino+1)
	return nil
}

func (t *tree) applyUnlink(r *record) error {
	dir := t.nodes[Ino(r.parent)]
	if dir == nil || dir.children[r.name] == nil {
		return fmt.Errorf("%w: unlink of unknown name", errGarbled)
	}
	t.remove(dir.children[r.name], int64(r.time))
	dir.touch(int64(r.time))
	return nil
}

// remove takes the name of a file or an empty directory by a local call.
func (t *tree) remove(n *node, now int64) {
	path := n.path()
	t.displace(n)
	n.ctime = now
	if !n.dir {
		t.touchPath(path, now)
		t.touchMemory(n.memory, now)
		t.vacate(path, n, now)
		t.uncarry(n)
		delete(t.dirtyFiles, n.ino)
		n.gen++
	}
	t.reap(n)
}

// uncarry leaves the memory that n carried without a carrier.
func (t *tree) uncarry(n *node) {
	if b := t.bases[n.memory]; b != nil && b.carrier == n {
		b.carrier = nil
		t.dirtyMemories[n.memory] = struct{}{}
	}
}

// reap forgets a node that has no name, that the kernel does not know and
// whose text nobody is waiting for.
func (t *tree) reap(n *node) {
	if _, waited := t.strays[n.ino]; !t.replaying && !n.linked() && n.refs == 0 && !waited && t.nodes[n.ino] != nil {
		t.hold(n, -1)
		delete(t.nodes, n.ino)
		if n.made {
			t.made--
		}
		delete(t.dirtyFiles, n.ino)
	}
}

func (t *tree) applyRename(r *record) error {
	from, to := t.nodes[Ino(r.parent)], t.nodes[Ino(r.newParent)]
	if from == nil || to == nil || from.children[r.name] == nil {
		return fmt.Errorf("%w: rename of unknown name", errGarbled)
	}
	now := int64(r.time)
	n := from.children[r.name]
	if to.under(n) {
		return fmt.Errorf("%w: rename into itself", errGarbled)
	}
	n.files(func(f *node) {
		t.touchPath(f.path(), now)
		t.vacate(f.path(), f, now)
	})
	replaced := ""
	if target := to.children[r.newName]; target != nil {
		replaced = target.memory
		t.remove(target, now)
	}
	t.displace(n)
	t.place(to, n, r.newName)
	t.inherit(n, replaced)
	n.ctime = now
	n.files(func(f *node) {
		t.touchPath(f.path(), now)
		t.touchMemory(f.memory, now)
		f.moved = now
		t.markFile(f, now)
		t.occupy(f, now)
	})
	from.touch(now)
	to.touch(now)
	return nil
}

// inherit lets a file that is nobody's take over the memory whose place it takes,
// as it would if a pass came now (R6): the one that it replaced, or the one
// that base has at its path and no file carries any more. So the id stays with
// what is moved on before the pass.
func (t *tree) inherit(n *node, replaced string) {
	if n.dir || n.memory != "" || t.isMarker(n) {
		return
	}
	id := replaced
	if atBase, ok := t.basePath[n.path()]; ok && id == "" {
		id = atBase
	}
	if b := t.bases[id]; b != nil && b.carrier == nil {
		t.carry(n, id)
	}
}

// applyDetach takes a file's name on behalf of a remote change.
func (t *tree) applyDetach(n *node, now int64) {
	if n.parent == nil {
		return
	}
	n.replacedID, n.replacedPath = n.memory, n.path()
	dir := n.parent
	t.displace(n)
	dir.touch(now)
	t.uncarry(n)
	delete(t.dirtyFiles, n.ino)
	n.replaced = true
	n.gen++
	t.reap(n)
}

func (t *tree) applyBase(r *record) {
	b := t.bases[r.id]
	if b == nil {
		b = &agreed{}
		t.bases[r.id] = b
	} else if t.basePath[b.Path] == r.id {
		delete(t.basePath, b.Path)
	}
	b.Base = Base{ID: r.id, VersionID: r.version, Path: r.path, SHA: r.sha, Size: int64(r.size),
		CreatedAt: when(int64(r.btime)), UpdatedAt: when(int64(r.mtime))}
	b.touched, b.first = 0, 0
	if n, ok := t.at(r.path); ok && !n.dir {
		n.agree() // what differs from here on, differs from this base
	}
	t.basePath[r.path] = r.id
	t.dirtyMemories[r.id] = struct{}{}
	if b.carrier != nil {
		t.dirtyFiles[b.carrier.ino] = struct{}{}
	}
}

func (t *tree) applyUnbase(id string) {
	b := t.bases[id]
	if b == nil {
		return
	}
	if t.basePath[b.Path] == id {
		delete(t.basePath, b.Path)
	}
	if b.carrier != nil {
		b.carrier.memory = ""
		t.dirtyFiles[b.carrier.ino] = struct{}{}
	}
	delete(t.bases, id)
	delete(t.dirtyMemories, id)
	if n, ok := t.at(b.Path); ok && !n.dir {
		t.dirtyFiles[n.ino] = struct{}{}
	}
}

func (t *tree) applySent(r *record) {
	t.sends[r.seq] = Send{Seq: r.seq, Op: Op(r.op), ID: r.id, Path: r.path, SHA: r.sha, Ino: Ino(r.ino), At: when(int64(r.time))}
	t.nextSeq = max(t.nextSeq, r.seq+1)
	n := t.nodes[Ino(r.ino)]
	if n != nil && n.content.size == 0 && r.sha == store.Hash(nil) && n.restsEmpty(int64(r.time)) {
		n.before = nil
	}
}

// restsEmpty reports whether an emptied file has come to rest. It may have been
// sent before that, by an explicit sync.
func (n *node) restsEmpty(now int64) bool { return now-n.written >= int64(EmptyRest) }

func (n *node) touch(now int64) { n.mtime, n.ctime = now, now }
