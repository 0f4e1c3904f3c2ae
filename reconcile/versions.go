package reconcile

import (
	"context"
	"maps"
	"time"

	"memfs/store"
)

// findings are what a versions query brought: the newest version of each memory
// that has a new one.
type findings struct {
	newest map[string]store.Version
	// unsure are memories whose present state the versions do not tell: two of
	// one time, or one that is older than what is known.
	unsure map[string]bool
	// read are all versions of the pages, latest the newest time.
	read   map[string]time.Time
	latest time.Time
}

// versions learns from the versions written since the last query; false where
// only a full listing will do.
func (l *learner) versions(ctx context.Context, inFlight map[string]bool) (enough bool, err error) {
	h, enough, err := l.readVersions(ctx)
	if err != nil || !enough {
		return false, err
	}
	var memories []store.Memory
	var ask, gone []string
	for id, v := range h.newest {
		old, known := l.view.Get(id)
		switch {
		case inFlight[id] || known && old.VersionID == v.ID:
		case h.unsure[id] || known && v.CreatedAt.Before(old.UpdatedAt) || v.Operation != store.Deleted && v.Path == "":
			ask = append(ask, id)
		case v.Operation == store.Deleted:
			gone = append(gone, id)
		default:
			memories = append(memories, memoryOf(v, old))
		}
	}
	found, err := l.confirm(ctx, ask)
	if err != nil {
		return false, err
	}
	for _, id := range gone {
		l.view.Gone(id)
	}
	sound := l.view.Put(append(memories, found...)...)
	l.remember(h, inFlight)
	return sound, nil
}

// memoryOf is the memory whose head is v.
func memoryOf(v store.Version, old store.Memory) store.Memory {
	m := store.Memory{ID: v.MemoryID, VersionID: v.ID, Path: v.Path, Size: v.Size, SHA: v.SHA,
		CreatedAt: old.CreatedAt, UpdatedAt: v.CreatedAt}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = v.CreatedAt
	}
	return m
}

// readVersions reads pages, newest first, up to the first one that brings
// nothing new. Pages move while they are read: what comes twice counts once.
func (l *learner) readVersions(ctx context.Context) (h findings, enough bool, err error) {
	h = findings{newest: map[string]store.Version{}, unsure: map[string]bool{}, read: map[string]time.Time{}}
	l.mu.Lock()
	q := store.VersionQuery{Since: l.cursor.Add(-overlap)}
	l.mu.Unlock()
	first := map[string]store.Version{} // the newest of each memory, new or not
	for range maxVersionPages {
		page, err := l.reader.Versions(ctx, q)
		if err != nil {
			return h, false, err
		}
		news := false
		for _, v := range page.Versions {
			news = l.take(&h, first, v) || news
		}
		if page.Next == "" || !news {
			return h, true, nil
		}
		q.Page = page.Next
	}
	return h, false, nil
}

// take notes one version and reports whether it is new. A redacted version says
// nothing about its memory, unless it is the one that deleted it.
func (l *learner) take(h *findings, first map[string]store.Version, v store.Version) bool {
	if _, twice := h.read[v.ID]; twice {
		return false
	}
	known := l.knows(v)
	h.read[v.ID] = v.CreatedAt
	if v.CreatedAt.After(h.latest) {
		h.latest = v.CreatedAt
	}
	if v.Redacted() && v.Operation != store.Deleted {
		return !known
	}
	newest, had := first[v.MemoryID]
	if had && !known {
		l.view.was(v.ID, v.MemoryID, v.SHA)
	}
	if !had {
		first[v.MemoryID] = v
		if !known {
			h.newest[v.MemoryID] = v
		}
		return !known
	}
	if newest.CreatedAt.Equal(v.CreatedAt) {
		// Ties are ordered by id, which says nothing about time.
		h.unsure[v.MemoryID] = true
		if !known {
			h.newest[v.MemoryID] = newest
		}
	}
	return !known
}

// remember keeps what the next query will bring again, and moves the cursor.
// Versions of memories in flight stay news: what they say was not used.
func (l *learner) remember(h findings, inFlight map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, at := range h.read {
		l.seen[id] = at
	}
	for id, v := range h.newest {
		if inFlight[id] {
			delete(l.seen, v.ID)
		}
		if v.Operation == store.Deleted {
			l.dead[id] = v.CreatedAt
		}
	}
	if h.latest.After(l.cursor) {
		l.cursor = h.latest
	}
	old := func(_ string, at time.Time) bool { return at.Before(l.cursor.Add(-2 * overlap)) }
	maps.DeleteFunc(l.seen, old)
	maps.DeleteFunc(l.dead, old)
}
