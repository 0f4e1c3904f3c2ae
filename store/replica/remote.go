package replica

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica/conflicts"
)

// Apply makes a set of remote changes true in one journaled step: paths are
// freed first, then placed, so that chains and swaps need no order. A step
// whose file moved on since the decision, or whose path is not free, is left
// out (applied false) and is for the next pass. Losing texts are in the
// conflict area, on disk, before anything is replaced; a step whose losing text
// cannot be kept is left out too, and the others are done, with an error.
func (r *Replica) Apply(set []Apply) (applied []bool, err error) {
	applied = make([]bool, len(set))
	saved := make(map[int]string)
	var unsaved error
	for i, a := range set {
		if a.Loser == nil {
			continue
		}
		id, err := r.saveLoser(a)
		if errors.Is(err, ErrMoved) || errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			unsaved = err
			continue
		}
		saved[i] = id
	}

	r.notify.Lock()
	defer r.notify.Unlock()
	changes, err := r.applySet(set, applied, saved)
	for i, id := range saved {
		if id != "" && (err != nil || !applied[i]) {
			if dropErr := r.area.Drop(id); dropErr != nil {
				r.o.Log.Warn("text kept in the conflict area although nothing was lost",
					zap.String("code", "conflicts"), zap.String("store", r.o.Store.ID), zap.String("conflict", id), zap.Error(dropErr))
			}
		}
	}
	if err == nil && len(changes) > 0 {
		r.mu.RLock()
		watchers := slices.Clone(r.watchers)
		r.mu.RUnlock()
		for _, watch := range watchers {
			watch(changes)
		}
	}
	return applied, cmp.Or(err, unsaved)
}

// saveLoser keeps a text that is about to be replaced, unless there is none any
// more: it was never needed here, and the store has not got it either.
func (r *Replica) saveLoser(a Apply) (string, error) {
	r.mu.RLock()
	n, err := r.node(a.Ino)
	if err != nil {
		r.mu.RUnlock()
		return "", err
	}
	path, gen := n.path(), n.gen
	if n.replaced {
		path = n.replacedPath
	}
	r.mu.RUnlock()
	if a.Gen != 0 && a.Gen != gen {
		return "", ErrMoved
	}
	text, err := r.Content(a.Ino, gen)
	if errors.Is(err, store.ErrNotFound) {
		r.o.Log.Warn("the losing text is neither here nor in the store, so it is not kept", zap.String("code", "content_gone"),
			zap.String("store", r.o.Store.ID), zap.String("path", path))
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("losing text of %s: %w", path, err)
	}
	entry, err := r.area.Save(conflicts.Entry{StoreID: r.o.Store.ID, Path: path, Reason: a.Loser.Reason, Session: r.o.Session,
		Base: a.Loser.BaseSHA, Local: store.Hash(text), Remote: a.Loser.Remote, MemoryID: a.ID, ReadOnly: r.o.ReadOnly}, text)
	if errors.Is(err, conflicts.ErrRedacted) {
		r.o.Log.Warn("the losing text was redacted in the store, so it is not kept", zap.String("code", "redacted"),
			zap.String("store", r.o.Store.ID), zap.String("path", path))
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("losing text of %s: %w", path, err)
	}
	return entry.ID, nil
}

// applySet checks the steps, journals what can be done as one frame, and does
// it.
func (r *Replica) applySet(set []Apply, applied []bool, saved map[int]string) ([]Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, a := range set {
		_, kept := saved[i]
		applied[i] = r.current(a) && (a.Loser == nil || kept)
	}
	r.tree.dropObstructed(set, applied)
	u := newUpdate(r)
	u.expect(len(set))
	for i, a := range set {
		if applied[i] {
			u.free(a)
		}
	}
	for i, a := range set {
		if applied[i] {
			u.place(a)
		}
	}
	if len(u.records) == 0 {
		return nil, nil
	}
	if err := r.commit(true, u.records...); err != nil {
		clear(applied)
		return nil, err
	}
	return append(u.changes, r.prune(u.left)...), nil
}

// current reports whether the file that a step was decided about is still in
// the state that was seen. r.mu is held.
func (r *Replica) current(a Apply) bool {
	if a.Ino == 0 {
		return true
	}
	n := r.tree.nodes[a.Ino]
	if n == nil {
		return a.Place == KeepTree
	}
	return a.Gen == 0 || a.Gen == n.gen
}

// prune removes directories that emptied remotely, unless they were made here
// (R9). r.mu is held.
func (r *Replica) prune(dirs []*node) []Change {
	var changes []Change
	for _, dir := range dirs {
		for dir.parent != nil && len(dir.entries) == 0 && !dir.made {
			parent := dir.parent
			change := Change{Parent: parent.ino, Name: dir.name, Old: dir.ino}
			if r.commit(true, record{kind: recUnlink, parent: uint64(parent.ino), name: dir.name, time: r.now()}) != nil {
				return changes // the journal is full: an empty directory stays
			}
			changes = append(changes, change)
			dir = parent
		}
	}
	return changes
}
