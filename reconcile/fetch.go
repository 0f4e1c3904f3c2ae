package reconcile

import (
	"context"
	"errors"
	"fmt"

	"memfs/store"
	"memfs/store/replica"
)

// Fetcher gets contents from a store for a replica: the memory's present
// content where it is the wanted one, else that of the listed version (R2).
// Content that the store does not have any more is store.ErrNotFound.
func Fetcher(r store.Reader) replica.Fetcher {
	return func(ctx context.Context, memoryID, versionID string, want store.SHA) ([]byte, error) {
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
}
