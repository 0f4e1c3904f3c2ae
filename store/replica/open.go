package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica/conflicts"
	"memfs/store/replica/disk"
	"memfs/store/replica/journal"
	"memfs/store/replica/objects"
)

const journalName = "journal"

// Open opens the replica of a store for one session or mount path, made anew
// or as its journal left it; one that is no journal any more is set aside. The caller is the only one: another process that
// has it open is ErrInUse.
func Open(o Options) (_ *Replica, err error) {
	r, err := newReplica(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.cancel()
			r.closeFiles()
		}
	}()
	err = r.restore()
	if errors.Is(err, journal.ErrHeader) {
		if err = r.setAside(err); err == nil {
			err = r.restore()
		}
	}
	if err != nil {
		return nil, fault(err)
	}
	if err := r.startJournal(); err != nil {
		return nil, fault(err)
	}
	if err := r.unmarkKept(); err != nil {
		return nil, fault(errors.Join(err, r.journal.Close()))
	}
	return r, nil
}

// Look opens a replica as Open does, to be looked at by f: what is unsent, and
// the contents. Nothing changes on disk, so that it also works where that is
// full. Its lock is held meanwhile; ErrInUse if a process has the replica open.
func Look(o Options, f func(*Replica) error) error {
	r, err := newReplica(o)
	if err != nil {
		return err
	}
	defer r.closeFiles()
	defer r.cancel()
	if err := r.restore(); err != nil {
		return fault(err)
	}
	if err := r.Ending(); err != nil && !disk.NoSpace(err) {
		return fault(err)
	}
	r.closed = true // every change is refused
	return f(r)
}

func newReplica(o Options) (*Replica, error) {
	o.fill()
	if err := o.Scratch.Check(); err != nil {
		return nil, err
	}
	r := &Replica{o: o, tree: newTree(o.Scratch), brought: make(map[store.SHA]time.Time)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// fault is err, and ErrNoSpace where a full disk is the reason.
func fault(err error) error {
	if disk.NoSpace(err) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w (%w)", ErrNoSpace, err)
	}
	return err
}

// restore brings the state that the disk has into memory, or that of a new
// replica.
func (r *Replica) restore() error {
	if err := r.openFiles(); err != nil {
		return err
	}
	found, err := r.replay()
	switch {
	case err != nil:
		return err
	case !found:
		return r.furnish()
	}
	r.recoverSaves()
	r.inherit()
	return nil
}

func (r *Replica) openFiles() (err error) {
	if r.place, err = openPlace(r.o.Dir, r.o.key(), r.o.Hook); err != nil {
		return err
	}
	dir, err := r.place.sub(r.place.dir, objectsName)
	if err != nil {
		return err
	}
	if r.objects, err = objects.Open(dir); err != nil {
		return err
	}
	if dir, err = r.place.sub(r.place.open[0], conflictsName, r.o.area()); err != nil {
		return err
	}
	r.area, err = conflicts.Open(dir, conflicts.Options{Now: r.o.Now})
	return err
}

// replay applies the journal that is there; false where there is none.
func (r *Replica) replay() (bool, error) {
	var garbled error
	r.tree.replaying = true
	defer func() { r.tree.replaying = false }()
	got, err := journal.Read(r.place.dir, journalName, func(payload []byte) error {
		if garbled == nil {
			garbled = r.replayFrame(payload)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if got.Header.Store != r.o.Store.ID || got.Header.Endpoint != r.o.Endpoint {
		return false, fmt.Errorf("%w: %s has the journal of %s at %s", ErrForeignState, r.place.dir.Path(), got.Header.Store, got.Header.Endpoint)
	}
	if garbled != nil || got.Damaged {
		r.o.Log.Warn("journal damaged at its end; what came before it stands",
			zap.String("code", "journal_damaged"), zap.String("store", r.o.Store.ID), zap.String("path", r.o.MountPath),
			zap.Int("records", got.Records), zap.Int64("good", got.Good), zap.Int64("size", got.Size), zap.Error(garbled))
	}
	return true, nil
}

func (r *Replica) replayFrame(payload []byte) error {
	records, err := decode(payload)
	if err != nil {
		return err
	}
	for i := range records {
		err := r.tree.apply(&records[i])
		if errors.Is(err, errUnloaded) {
			r.reload(r.tree.nodes[Ino(records[i].ino)])
			err = r.tree.apply(&records[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reload brings the content that a record builds on into memory. It was kept
// before the record was written, and synced before a sync of that returned.
// Where it is lost all the same, by power loss before that or by somebody's
// hand, the store is asked for it; where that has not got it either the file is
// damaged: it cannot be read and is never sent.
func (r *Replica) reload(n *node) {
	text, err := r.load(r.ctx, n.content)
	if err != nil || int64(len(text)) != n.content.size {
		r.o.Log.Error("content that later edits build on is gone from the state directory",
			zap.String("code", "content_lost"), zap.String("store", r.o.Store.ID), zap.String("path", n.path()), zap.Error(err))
		n.damaged = true
		text = make([]byte, n.content.size)
	}
	n.content.buf, n.content.hashed = slices.Clone(text), false
}

// recoverSaves makes a file that was emptied and neither written nor synced
// since what it was: the save was cut off (R16). Files without a name that
// nobody can have open any more are forgotten.
func (r *Replica) recoverSaves() {
	for _, n := range r.tree.nodes {
		if n.before != nil && n.parent != nil && !n.dir {
			r.o.Log.Warn("a save was cut off; the text before it stands",
				zap.String("code", "save_cut_off"), zap.String("store", r.o.Store.ID), zap.String("path", n.path()))
			before := *n.before
			r.tree.resize(n, before.size)
			n.content, n.before, n.emptied = before, nil, false
			r.tree.markFile(n, nanos(r.o.Now()))
		}
		r.tree.reap(n)
	}
}

// furnish makes a new replica's root and marker (R13).
func (r *Replica) furnish() error {
	now, t := r.now(), r.tree
	t.root.mode, t.root.uid, t.root.gid = r.o.DirMode, r.o.UID, r.o.GID
	t.root.atime, t.root.btime = int64(now), int64(now)
	t.root.touch(int64(now))
	marker := t.nextIno
	for _, rec := range []record{
		{kind: recNode, ino: uint64(marker), parent: uint64(Root), name: store.MarkerName, mode: uint64(r.o.FileMode),
			uid: uint64(r.o.UID), gid: uint64(r.o.GID), atime: now, mtime: now, ctime: now, btime: now},
		{kind: recWrite, ino: uint64(marker), time: now, data: store.Marker(r.o.Store.ID)},
	} {
		if err := t.apply(&rec); err != nil {
			return err
		}
	}
	return nil
}

// startJournal writes the present state to a fresh journal, which from now on
// takes every change.
func (r *Replica) startJournal() error {
	for ino := range r.tree.nodes {
		if err := r.saveContent(r.tree.nodes[ino]); err != nil {
			return err
		}
	}
	snapshot, _, err := r.snapshotRecords()
	if err != nil {
		return err
	}
	h := journal.Header{Store: r.o.Store.ID, Endpoint: r.o.Endpoint, MountPath: r.o.MountPath, Session: r.o.Session,
		Created: r.o.Now(), ReadOnly: r.o.ReadOnly}
	r.journal, err = journal.Create(r.place.dir, journalName, h, snapshot, journal.Options{
		BeforeSync: r.objects.Sync,
		OnError: func(err error) {
			r.o.Log.Error("the journal cannot be synced to disk", zap.String("code", "journal_sync"),
				zap.String("store", r.o.Store.ID), zap.String("path", r.o.MountPath), zap.Error(err))
			r.background(r.heal)
		},
	})
	if err == nil {
		r.mu.Lock()
		r.compaction.left = r.journal.Size()
		r.planCheckpoint()
		r.mu.Unlock()
	}
	return err
}

// Close ends the replica and keeps its state for the next Open.
func (r *Replica) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	for _, n := range r.tree.nodes {
		n.before = nil // a clean end is no cut-off save
	}
	r.releaseAll()
	r.mu.Unlock()
	err := r.Checkpoint()
	if disk.NoSpace(err) {
		err = nil // the journal stands as it is
	}
	return errors.Join(err, r.shut())
}

// Remove ends the replica and takes everything of it off this host, except
// the conflict area.
func (r *Replica) Remove() error {
	if err := r.stop(); err != nil {
		return err
	}
	_ = r.journal.Close() // it goes in any case
	return r.place.remove(r.o.area())
}

func (r *Replica) shut() error {
	if err := r.stop(); err != nil {
		return err
	}
	err := r.journal.Close()
	r.closeFiles()
	return err
}

// stop ends all changes and background work.
func (r *Replica) stop() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
	return nil
}

func (r *Replica) closeFiles() {
	if r.place != nil {
		r.place.close()
	}
}

// background runs f beside the replica's work; ending waits for it.
func (r *Replica) background(f func()) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return
	}
	r.running.Go(f)
}

// Sync returns when every change so far is on disk.
func (r *Replica) Sync(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- r.sync() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
