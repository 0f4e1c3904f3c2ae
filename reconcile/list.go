package reconcile

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"memfs/store"
)

// maxFetches is how many reads of one store go on at once (R4).
const maxFetches = 16

// pages calls f with each page of a listing. A cursor that does not move is an
// error and not an endless listing.
func pages(ctx context.Context, r store.Reader, q store.ListQuery, f func(store.ListPage)) error {
	for {
		page, err := r.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list %q: %w", q.Prefix, err)
		}
		f(page)
		if page.Next == "" {
			return nil
		}
		if page.Next == q.Page {
			return fmt.Errorf("%w: list %q: the page after %q is the same page", store.ErrProtocol, q.Prefix, q.Page)
		}
		q.Page = page.Next
	}
}

// listing is a store's memories by id. A memory that changed while the listing
// was read may come twice; the later state counts.
type listing map[string]store.Memory

func (l listing) add(memories []store.Memory) {
	for _, m := range memories {
		if old, twice := l[m.ID]; !twice || !m.UpdatedAt.Before(old.UpdatedAt) {
			l[m.ID] = m
		}
	}
}

// listAll lists the whole store, one page after the other.
func listAll(ctx context.Context, r store.Reader) (listing, error) {
	all := listing{}
	err := pages(ctx, r, store.ListQuery{}, func(p store.ListPage) { all.add(p.Memories) })
	return all, err
}

// listParallel lists the whole store directory by directory, which takes more
// requests than listAll and less time (R1).
func listParallel(ctx context.Context, r store.Reader) (listing, error) {
	all := listing{}
	var prefixes []string
	err := pages(ctx, r, store.ListQuery{Children: true}, func(p store.ListPage) {
		all.add(p.Memories)
		prefixes = append(prefixes, p.Prefixes...)
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxFetches)
	for _, prefix := range prefixes {
		group.Go(func() error {
			return pages(ctx, r, store.ListQuery{Prefix: prefix}, func(p store.ListPage) {
				mu.Lock()
				defer mu.Unlock()
				all.add(p.Memories)
			})
		})
	}
	return all, group.Wait()
}
