package replica

import (
	"iter"
	"slices"

	"go.uber.org/zap"

	"memfs/store"
)

// SetState says what reconcile decided about a file in one generation: refused
// or held, and why. A later change of the file makes it dirty again.
func (r *Replica) SetState(ino Ino, gen uint64, state State, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.tree.nodes[ino]; n != nil && n.gen == gen {
		n.state, n.stateG, n.reason = state, gen, reason
	}
}

// stateOf says what became of a linked file. r.mu is held.
func (r *Replica) stateOf(n *node) (State, string) {
	t := r.tree
	switch {
	case t.isMarker(n):
		return Scratch, "the mount's marker"
	case t.isScratch(n):
		return Scratch, "local only by its name"
	case n.damaged:
		return Held, "content cannot be read back"
	}
	if id, ok := t.basePath[n.path()]; ok && t.clean(t.bases[id]) {
		if r.here(n.content) {
			return Clean, ""
		}
		return Remote, ""
	}
	said := n.state != "" && n.stateG == n.gen // by the last pass
	switch {
	case said && (n.state == Held || !n.failed): // it may have failed since
		return n.state, n.reason
	case n.failed:
		if n.content.size >= store.MaxContent && !n.local {
			return Held, "its last write went over the size that a memory can have"
		}
		return Held, "its last write could not be kept"
	case r.o.ReadOnly:
		return Held, "the store is attached read-only"
	}
	return Dirty, ""
}

// Inspect describes one file for its extended attributes.
func (r *Replica) Inspect(ino Ino) (Inspection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.node(ino)
	switch {
	case err != nil:
		return Inspection{}, err
	case n.dir:
		return Inspection{}, ErrIsDir
	case n.parent == nil:
		return Inspection{}, ErrNotExist
	}
	i := Inspection{Path: n.path(), SHA: n.content.hash()}
	i.State, i.Reason = r.stateOf(n)
	b := r.tree.bases[n.memory]
	if id, ok := r.tree.basePath[i.Path]; ok {
		b = r.tree.bases[id]
	}
	if b != nil {
		i.ID, i.VersionID, i.BaseSHA, i.SyncedAt = b.ID, b.VersionID, b.SHA, b.UpdatedAt
	}
	return i, nil
}

// Usage is what df shows of the store.
func (r *Replica) Usage() Usage {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return Usage{Memories: r.tree.memories, MaxMemories: r.o.MaxMemories,
		Bytes: r.tree.contentBytes, MaxBytes: int64(r.o.MaxMemories) * store.MaxContent}
}

// Status counts the replica's files by what became of them.
func (r *Replica) Status() Status {
	kept, err := r.area.List()
	if err != nil && r.ctx.Err() == nil { // an ended replica has none
		r.o.Log.Warn("conflict area cannot be read", zap.String("code", "conflicts"), zap.String("store", r.o.Store.ID), zap.Error(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tree
	s := Status{StoreID: r.o.Store.ID, StoreName: r.o.Store.Name, MountPath: r.o.MountPath, ReadOnly: r.o.ReadOnly, Area: r.o.area(),
		MarkerOK: r.markerOK(), Strays: len(t.strays), Sending: len(t.sends), Conflicts: len(kept),
		ScratchBytes: t.scratchBytes}
	if r.journal != nil { // not so under Look
		s.JournalBytes = r.journal.Size()
	}
	t.root.files(func(n *node) {
		if t.isMarker(n) {
			return
		}
		state, _ := r.stateOf(n)
		s.count(state)
		if since := when(n.dirtySince()); state == Dirty && !since.IsZero() && (s.OldestUnsent.IsZero() || since.Before(s.OldestUnsent)) {
			s.OldestUnsent = since
		}
	})
	s.Memories = s.Clean + s.Remote + s.Dirty + s.Refused + s.Held
	for id := range t.dirtyMemories {
		b := t.bases[id]
		if n, ok := t.at(b.Path); (!ok || n.dir) && b.carrier == nil {
			s.Deleted++
		}
	}
	return s
}

func (s *Status) count(state State) {
	switch state {
	case Clean:
		s.Clean++
	case Remote:
		s.Remote++
	case Dirty:
		s.Dirty++
	case Refused:
		s.Refused++
	case Held:
		s.Held++
	case Scratch:
		s.Scratch++
	}
}

// Bases returns what store and mount last agreed on, in no order.
func (r *Replica) Bases() iter.Seq[Base] {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Base, 0, len(r.tree.bases))
	for _, b := range r.tree.bases {
		all = append(all, b.Base)
	}
	return slices.Values(all)
}

// Base returns the base of one memory.
func (r *Replica) Base(id string) (Base, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if b := r.tree.bases[id]; b != nil {
		return b.Base, true
	}
	return Base{}, false
}

// BaseAt returns the base of the memory that was last agreed to be at a path.
func (r *Replica) BaseAt(path string) (Base, bool) {
	r.mu.RLock()
	id, ok := r.tree.basePath[path]
	r.mu.RUnlock()
	if !ok {
		return Base{}, false
	}
	return r.Base(id)
}

// Stands reports whether a file stands at a path.
func (r *Replica) Stands(path string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n, ok := r.tree.at(path)
	return ok && !n.dir
}

// Unfetched lists up to max memories whose content was never needed here; max
// 0 means all.
func (r *Replica) Unfetched(max int) []Base {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Base
	for _, b := range r.tree.bases {
		n := b.carrier
		if n == nil || n.content.memory == "" || r.here(n.content) {
			continue
		}
		out = append(out, b.Base)
		if max > 0 && len(out) == max {
			break
		}
	}
	return out
}
