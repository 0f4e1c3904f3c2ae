package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"memfs/store"
	"memfs/store/replica"
)

// knownOut is how long after a fetch failed for good the store is asked only
// once for others.
const knownOut = 10 * time.Second

// Fetcher gets contents from a store for a replica. Somebody waits for them whom
// a busy moment of the store would look like a broken file, and no pass repeats
// what he does: so a request that may succeed in a moment is repeated, within ctx
// (R14). In an outage that is done for one content, not again for each.
func Fetcher(r store.Reader) replica.Fetcher {
	var failed atomic.Pointer[time.Time]
	return func(ctx context.Context, memoryID, versionID string, want store.SHA) ([]byte, error) {
		once := func(ctx context.Context) ([]byte, error) { return fetchContent(ctx, r, memoryID, versionID, want) }
		if at := failed.Load(); at != nil && time.Since(*at) < knownOut {
			text, err := once(ctx)
			if err == nil {
				failed.Store(nil)
			}
			return text, err
		}
		text, err := store.Patiently(ctx, once)
		if store.Transient(err) {
			now := time.Now()
			failed.Store(&now)
		}
		return text, err
	}
}

// fetchContent gets a memory's present content where it is the wanted one, else
// that of the listed version (R2). Content that the store does not have any more
// is store.ErrNotFound.
func fetchContent(ctx context.Context, r store.Reader, memoryID, versionID string, want store.SHA) ([]byte, error) {
	m, err := r.Get(ctx, memoryID)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	case store.Hash(m.Content) == want:
		return m.Content, nil
	}
	v, err := r.Version(ctx, versionID)
	if err != nil {
		return nil, fmt.Errorf("memory %s: %w", memoryID, err)
	}
	if store.Hash(v.Content) != want {
		return nil, fmt.Errorf("%w: content %s of memory %s", store.ErrNotFound, want, memoryID)
	}
	return v.Content, nil
}
