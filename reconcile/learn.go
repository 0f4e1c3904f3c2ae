package reconcile

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"memfs/store"
	"memfs/store/replica"
)

const (
	// overlap is how far before the newest server time seen the next query
	// begins: versions with equal or slightly older times may still appear (R5).
	overlap = time.Minute
	// maxVersionPages is how many pages of versions are read before a full
	// listing is cheaper (R5).
	maxVersionPages = 10
	// listEvery is how often the whole store is listed anyway (R5).
	listEvery = 10 * time.Minute
)

// learner keeps the remote view up to date (R5). It asks for the versions
// written since the last time, and lists the whole store where that does not
// do. Absence from a listing is never taken for a delete.
type learner struct {
	reader store.Reader
	view   *View
	bases  func() iter.Seq[replica.Base]
	now    func() time.Time

	mu sync.Mutex
	// seen are the versions known, with their times, as far back as the next
	// query can reach.
	seen map[string]time.Time
	// dead are the memories that these versions deleted, with the times.
	dead   map[string]time.Time
	cursor time.Time // the newest server time; never the host's
	// before is what cursor was when the last listing began: what is older, the
	// listing has.
	before time.Time
	// refused: the store did not answer a versions query for us, at asked.
	refused bool
	asked   time.Time
	listed  time.Time // when the store was last listed, by the host's clock
	doubt   bool      // something did not add up
	// fresh: the store was listed, and redactions are to be looked for.
	fresh bool
}

// takeListed reports whether the store was listed since it was last asked.
func (l *learner) takeListed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.fresh
	l.fresh = false
	return fresh
}

// putListed takes that back.
func (l *learner) putListed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
}

// own notes a memory that this host wrote, so that its version is no news when
// it comes back. Where that is older than what the next query asks for, the
// store's clock was set back; where the memory was seen deleted, somebody was
// faster than the answer.
func (l *learner) own(m store.Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[m.VersionID] = m.UpdatedAt
	if _, dead := l.dead[m.ID]; dead || m.UpdatedAt.Before(l.cursor.Add(-overlap)) {
		l.doubt = true
	}
}

// knows reports whether a version is no news: it was seen, or the listing had
// it. What was written while the listing was read is news, even if the listing
// happened to have it, since other changes of that time it may lack.
func (l *learner) knows(v store.Version) bool {
	l.mu.Lock()
	_, seen := l.seen[v.ID]
	listed := v.CreatedAt.Before(l.before)
	l.mu.Unlock()
	if seen || !listed {
		return seen
	}
	m, viewed := l.view.Get(v.MemoryID)
	return viewed && m.VersionID == v.ID
}

// distrust has the next learn list the whole store.
func (l *learner) distrust() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = true
}

// lastListed is when the whole store was last listed.
func (l *learner) lastListed() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listed
}

// learn brings the view up to date. What is in flight is left alone: an answer
// on its way is newer than what is read here.
func (l *learner) learn(ctx context.Context, inFlight map[string]bool) error {
	l.mu.Lock()
	full := l.doubt || l.refused || l.now().Sub(l.listed) >= listEvery
	l.mu.Unlock()
	if full {
		return l.list(ctx, inFlight, listAll)
	}
	enough, err := l.versions(ctx, inFlight)
	switch {
	case errors.Is(err, store.ErrUnauthorized), errors.Is(err, store.ErrNotFound):
		// Perhaps only for versions (R14); the listing will tell.
		l.mu.Lock()
		l.refused, l.asked = true, l.now()
		l.mu.Unlock()
	case err != nil:
		return err
	case enough:
		return nil
	}
	return l.list(ctx, inFlight, listAll)
}

// trust takes back what was doubted. What is doubted from here on, while the
// store is listed, is for the next listing.
func (l *learner) trust() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = false
}

// list learns from a full listing.
func (l *learner) list(ctx context.Context, inFlight map[string]bool, list func(context.Context, store.Reader) (listing, error)) (err error) {
	l.trust()
	defer func() {
		if err != nil {
			l.distrust()
		}
	}()
	from, err := l.newest(ctx, inFlight)
	if err != nil {
		return err
	}
	all, err := list(ctx, patient{l.reader})
	if err != nil {
		return err
	}
	memories := make([]store.Memory, 0, len(all))
	for id, m := range all {
		if !inFlight[id] {
			memories = append(memories, m)
		}
	}
	var missing []string
	for id := range l.expected(from) {
		if _, listed := all[id]; !listed && !inFlight[id] {
			missing = append(missing, id)
		}
	}
	found, err := l.confirm(ctx, missing)
	if err != nil {
		return err
	}
	sound := l.view.Put(append(memories, found...)...)
	for b := range l.bases() {
		if m, _ := l.view.Get(b.ID); m.VersionID != b.VersionID {
			l.view.was(b.VersionID, b.ID, b.SHA) // of an earlier process
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
	// What does not add up now, changed while it was listed: list again.
	l.cursor, l.before, l.refused, l.listed, l.doubt = from.cursor, from.cursor, from.seen == nil, l.now(), l.doubt || !sound
	maps.Copy(l.seen, from.seen)
	return nil
}

// expected are the memories that a listing should have: those of base, of the
// view and of the newest versions.
func (l *learner) expected(from start) map[string]bool {
	ids := map[string]bool{}
	for id, lives := range from.live {
		if lives {
			ids[id] = true
		}
	}
	for _, id := range l.view.IDs() {
		ids[id] = true
	}
	for b := range l.bases() {
		ids[b.ID] = true
	}
	return ids
}

// start is what is known before a listing: from when the next versions query
// goes on, the newest versions, nil where versions are refused, and the memories
// that these leave in the store.
type start struct {
	cursor time.Time
	seen   map[string]time.Time
	live   map[string]bool
}

// newest finds from when the next versions query goes on: the time of the newest
// version, or of the store's creation where there is none. The newest versions
// are seen: the listing will have what they made. Deletes stay news: the answer
// to a create may be on its way that brings the memory back into the view.
func (l *learner) newest(ctx context.Context, inFlight map[string]bool) (start, error) {
	l.mu.Lock()
	skip := l.refused && l.now().Sub(l.asked) < listEvery
	if !skip {
		l.asked = l.now()
	}
	l.mu.Unlock()
	if skip {
		return start{}, nil
	}
	page, err := patient{l.reader}.Versions(ctx, store.VersionQuery{})
	switch {
	case errors.Is(err, store.ErrUnauthorized), errors.Is(err, store.ErrNotFound):
		return start{}, nil
	case err != nil:
		return start{}, err
	}
	s := start{seen: map[string]time.Time{}, live: map[string]bool{}}
	for _, v := range page.Versions {
		if !inFlight[v.MemoryID] && v.Operation != store.Deleted {
			s.seen[v.ID] = v.CreatedAt
		}
		if _, newer := s.live[v.MemoryID]; !newer {
			s.live[v.MemoryID] = v.Operation != store.Deleted
		}
		if v.CreatedAt.After(s.cursor) {
			s.cursor = v.CreatedAt
		}
	}
	if len(page.Versions) == 0 {
		info, err := patient{l.reader}.Info(ctx)
		if err != nil {
			return start{}, err
		}
		s.cursor = info.CreatedAt
	}
	return s, nil
}

// confirm asks for memories one by one: those that exist are returned, those
// that the store does not have any more are noted as gone.
func (l *learner) confirm(ctx context.Context, ids []string) ([]store.Memory, error) {
	var mu sync.Mutex
	var found []store.Memory
	var gone []string
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(maxFetches)
	for _, id := range ids {
		group.Go(func() error {
			m, err := l.reader.Get(asking, id)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, store.ErrNotFound):
				gone = append(gone, id)
			case err != nil:
				return err
			default:
				found = append(found, m)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(gone) > 0 {
		// A store that is gone has no memories either: that deletes nothing.
		if _, err := l.reader.Info(ctx); err != nil {
			return nil, err
		}
	}
	for _, id := range gone {
		l.view.Gone(id)
	}
	return found, nil
}
