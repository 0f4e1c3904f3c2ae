package replica

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.uber.org/zap"

	"memfs/store"
)

// Checkpoint replaces the journal by one that holds the present state, so that
// it does not grow for ever. Changed contents become objects; writers wait
// only while the state is listed in memory.
func (r *Replica) Checkpoint() error {
	r.ckpt.Lock()
	defer r.ckpt.Unlock()
	if err := r.place.relock(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	// What is put from here on stays: records behind the snapshot build on it.
	sweep := r.objects.BeginSweep()
	defer sweep.End()
	if err := r.saveContents(); err != nil {
		return err
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	snapshot, used, err := r.snapshotRecords()
	if err != nil {
		r.mu.Unlock()
		return err
	}
	point := r.journal.BeginCheckpoint()
	r.mu.Unlock()
	if err := r.objects.Sync(); err != nil {
		point.Abort()
		return fmt.Errorf("checkpoint: contents: %w", err)
	}
	if err := point.Commit(snapshot); err != nil {
		return err
	}
	// Neither the checkpoint nor a file refers to the rest.
	r.addPresent(used)
	return sweep.Remove(func(sha store.SHA) bool {
		_, keep := used[sha]
		return keep
	})
}

// addPresent adds what files refer to now, and what was brought here for a file
// that is to come.
func (r *Replica) addPresent(used map[store.SHA]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.tree.nodes {
		used[n.content.sha] = struct{}{}
		if n.before != nil {
			used[n.before.sha] = struct{}{}
		}
	}
	for sha, at := range r.brought {
		if r.o.Now().Sub(at) > broughtFor {
			delete(r.brought, sha)
			continue
		}
		used[sha] = struct{}{}
	}
}

// saveContents makes objects of the contents that only memory and journal
// have, one by one, without holding up writers.
func (r *Replica) saveContents() error {
	r.mu.RLock()
	var inos []Ino
	for ino, n := range r.tree.nodes {
		if n.content.buf != nil || n.before != nil && n.before.buf != nil {
			inos = append(inos, ino)
		}
	}
	r.mu.RUnlock()
	for _, ino := range inos {
		r.mu.Lock()
		err := r.saveContent(r.tree.nodes[ino])
		r.mu.Unlock()
		if err != nil {
			return fmt.Errorf("checkpoint: content: %w", err)
		}
	}
	return nil
}

func (r *Replica) saveContent(n *node) error {
	if n == nil {
		return nil
	}
	for _, c := range []*content{&n.content, n.before} {
		if c == nil || c.buf == nil || n.damaged {
			continue
		}
		if err := r.objects.Put(c.hash(), c.buf); err != nil {
			return err
		}
	}
	return nil
}

// snapshotRecords lists the present state as records. Contents that changed
// since saveContents are made objects now. r.mu is held.
func (r *Replica) snapshotRecords() (iter.Seq[[]byte], map[store.SHA]struct{}, error) {
	t := r.tree
	used := make(map[store.SHA]struct{})
	w := &snapshotWriter{used: used, strays: t.strays}
	w.add(record{kind: recCounters, ino: uint64(t.nextIno), seq: t.nextSeq})
	w.node(t.root)
	var orphans []*node // later records may be about them, while somebody has them open
	for _, n := range t.nodes {
		if err := r.saveContent(n); err != nil {
			return nil, nil, err
		}
		if !n.linked() {
			orphans = append(orphans, n)
			w.node(n)
		}
	}
	w.contents(t.root)
	for _, n := range orphans {
		w.contents(n)
	}
	for _, b := range t.bases {
		w.add(baseRecord(b.Base))
		if b.carrier != nil {
			w.add(record{kind: recCarry, ino: uint64(b.carrier.ino), id: b.ID})
		}
		if b.touched != 0 {
			w.add(record{kind: recTouched, id: b.ID, time: uint64(b.touched), since: uint64(b.first)})
		}
		if b.verdict != Unjudged {
			w.add(verdictRecord(b.ID, b.verdict))
		}
	}
	w.changes(t.root)
	for _, n := range orphans {
		w.changes(n)
	}
	for _, s := range t.sends {
		w.add(record{kind: recSent, seq: s.Seq, op: uint64(s.Op), id: s.ID, path: s.Path, sha: s.SHA, ino: uint64(s.Ino), time: uint64(nanos(s.At))})
	}
	for _, d := range t.counted {
		w.add(d.record())
	}
	w.times(t.root)
	w.flush()
	return slices.Values(w.payloads), used, nil
}

// snapshotPayload is about how large the payloads of a checkpoint are: many
// records share one, since everybody waits while they are made.
const snapshotPayload = 64 << 10

// snapshotWriter makes the payloads of a checkpoint.
type snapshotWriter struct {
	payload  []byte
	payloads [][]byte
	used     map[store.SHA]struct{}
	strays   map[Ino]*node
}

func (w *snapshotWriter) add(r record) {
	if w.payload == nil {
		w.payload = make([]byte, 0, snapshotPayload+snapshotPayload/8)
	}
	c := codec{out: w.payload}
	r.fields(&c)
	w.payload = c.out
	if len(w.payload) >= snapshotPayload {
		w.flush()
	}
}

func (w *snapshotWriter) flush() {
	if len(w.payload) > 0 {
		w.payloads = append(w.payloads, w.payload)
		w.payload = nil
	}
}

// node writes a node and all below it, parents first.
func (w *snapshotWriter) node(n *node) {
	rec := record{kind: recNode, ino: uint64(n.ino), name: n.name, mode: uint64(n.mode), uid: uint64(n.uid), gid: uint64(n.gid),
		atime: uint64(n.atime), mtime: uint64(n.mtime), ctime: uint64(n.ctime), btime: uint64(n.btime)}
	if n.parent != nil {
		rec.parent = uint64(n.parent.ino)
	} else {
		rec.flags |= flagOrphan
	}
	if n.dir {
		rec.flags |= flagDir
		if n.made {
			rec.flags |= flagMade
		}
	}
	if n.replaced {
		rec.flags |= flagReplaced
	}
	w.add(rec)
	for _, child := range n.entries {
		w.node(child)
	}
}

func (w *snapshotWriter) contents(dir *node) {
	dir.files(func(n *node) {
		w.content(n, n.content, recContent)
		if n.before != nil {
			w.content(n, *n.before, recBefore)
		}
	})
}

// changes writes what is known of changes: after the bases, by which a file
// that carries a memory starts anew.
func (w *snapshotWriter) changes(dir *node) {
	dir.files(func(n *node) {
		if n.since == 0 && n.written == 0 && n.moved == 0 && !n.replaced {
			return
		}
		rec := record{kind: recDirty, ino: uint64(n.ino), time: uint64(n.written), mtime: uint64(n.moved), since: uint64(n.dirtySince()),
			id: n.replacedID, path: n.replacedPath}
		if n.emptied {
			rec.flags |= flagEmptied
		}
		if n.failed || n.damaged {
			rec.flags |= flagFailed
		}
		if _, stray := w.strays[n.ino]; n.replaced && !stray {
			rec.flags |= flagKept
		}
		w.add(rec)
	})
}

func (w *snapshotWriter) content(n *node, c content, k kind) {
	rec := contentRecord(n.ino, c, k)
	rec.sha = c.hash()
	w.used[rec.sha] = struct{}{}
	w.add(rec)
}

// times writes the directories' attributes last, as making entries moves them.
func (w *snapshotWriter) times(dir *node) {
	w.add(record{kind: recAttr, ino: uint64(dir.ino), mode: uint64(dir.mode), uid: uint64(dir.uid), gid: uint64(dir.gid),
		atime: uint64(dir.atime), mtime: uint64(dir.mtime), ctime: uint64(dir.ctime)})
	for _, child := range dir.entries {
		if child.dir {
			w.times(child)
		}
	}
}

// A checkpoint is due when the journal has grown to three times what the last
// one left, but not below minCheckpoint, where none is worth while: on a small
// or full disk that is a quarter of what is free, so that the checkpoint has
// room before the disk is full.
const (
	minCheckpoint = 16 << 20
	minOnSmall    = 256 << 10
)

// compaction is when the journal is made smaller. Replica.mu guards it.
type compaction struct {
	at    int64         // the journal's size at which a checkpoint is due
	left  int64         // its size after the last one
	done  chan struct{} // closed when the one under way has ended; nil if none is
	tried time.Time     // when the last one was started
	fails bool
}

const (
	retryCheckpoint = time.Second // least time between two that a full disk asks for
	maxStall        = 5 * time.Second
)

// planCheckpoint says when the next checkpoint is due. r.mu is held.
func (r *Replica) planCheckpoint() {
	least := int64(minCheckpoint)
	if free, err := r.place.dir.Free(); err == nil {
		least = min(least, max(free/4, minOnSmall))
	}
	r.compaction.at = max(least, 3*r.journal.Size())
}

// compactGrown starts a checkpoint where the journal has grown enough. r.mu is
// held.
func (r *Replica) compactGrown() {
	if r.journal.Size() > r.compaction.at {
		r.startCompact()
	}
}

// compactFull starts a checkpoint where a full disk holds more of what was
// overwritten than of what is. r.mu is held.
func (r *Replica) compactFull() {
	c := &r.compaction
	if r.journal.Size() > 2*c.left && time.Since(c.tried) > retryCheckpoint {
		r.startCompact()
	}
}

func (r *Replica) startCompact() {
	if c := &r.compaction; c.done == nil {
		c.done, c.tried = make(chan struct{}), time.Now()
		r.running.Go(r.compact)
	}
}

// letCompact waits for a checkpoint that the journal is about to outgrow: on a
// small disk writers could take the room that it needs.
func (r *Replica) letCompact() {
	r.mu.Lock()
	done, size, at := r.compaction.done, r.journal.Size(), r.compaction.at
	r.mu.Unlock()
	if done == nil || size < at+at/2 {
		return
	}
	stall := time.NewTimer(maxStall)
	defer stall.Stop()
	select {
	case <-done:
	case <-stall.C:
	case <-r.ctx.Done():
	}
}

// compact is the checkpoint that a grown journal asks for.
func (r *Replica) compact() {
	err := r.Checkpoint()
	r.mu.Lock()
	c := &r.compaction
	known := c.fails
	if c.fails = err != nil; !c.fails {
		c.left = r.journal.Size()
	}
	r.planCheckpoint()
	close(c.done)
	c.done = nil
	r.mu.Unlock()
	if err != nil && !known && !errors.Is(err, ErrClosed) {
		r.o.Log.Warn("the journal could not be made smaller", zap.String("code", "checkpoint_failed"),
			zap.String("store", r.o.Store.ID), zap.String("path", r.o.MountPath), zap.Error(err))
	}
}

// heal replaces a journal that cannot be written any more, unless another call
// has done so; until that works every change is refused.
func (r *Replica) heal() {
	if !r.journal.Stats().Broken {
		return
	}
	if err := r.Checkpoint(); err != nil && !errors.Is(err, ErrClosed) {
		r.o.Log.Error("the journal cannot be replaced; changes are refused until it can",
			zap.String("code", "journal_broken"), zap.String("store", r.o.Store.ID), zap.String("path", r.o.MountPath), zap.Error(err))
	}
}
