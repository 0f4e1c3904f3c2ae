package reconcile

import (
	"context"
	"fmt"
	"path"
	"slices"
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
	l := &lister{Reader: r, slots: make(chan struct{}, maxFetches), all: listing{}}
	err := l.tree(ctx, "")
	return l.all, err
}

// lister lists with a bounded number of requests at a time.
type lister struct {
	store.Reader
	slots chan struct{}

	mu  sync.Mutex
	all listing
}

// List is store.Reader's.
func (l *lister) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return l.Reader.List(ctx, q)
	case <-ctx.Done():
		return store.ListPage{}, &store.UnavailableError{Cause: ctx.Err()}
	}
}

func (l *lister) add(p store.ListPage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.add(p.Memories)
}

func (l *lister) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// tree lists what is below a directory through its child directories. Where the
// first of them turn out to hold so little that a page of everything brings
// more than all requests of a moment, it lists page by page.
func (l *lister) tree(ctx context.Context, dir string) error {
	var children []string
	err := pages(ctx, l, store.ListQuery{Prefix: dir, Children: true}, func(p store.ListPage) {
		l.add(p)
		children = append(children, p.Prefixes...)
	})
	if err != nil {
		return err
	}
	first := children[:min(len(children), maxFetches)]
	before := l.len()
	if err := l.each(ctx, first); err != nil || len(first) == len(children) {
		return err
	}
	if l.len()-before < store.MaxBasicPage {
		return pages(ctx, l, store.ListQuery{Prefix: dir}, l.add)
	}
	return l.each(ctx, children[len(first):])
}

// each lists several directories at once.
func (l *lister) each(ctx context.Context, dirs []string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, dir := range dirs {
		group.Go(func() error { return l.below(ctx, dir) })
	}
	return group.Wait()
}

// below lists what is below a directory: in one request where that is enough.
func (l *lister) below(ctx context.Context, dir string) error {
	q := store.ListQuery{Prefix: dir}
	page, err := l.List(ctx, q)
	if err != nil {
		return fmt.Errorf("list %q: %w", dir, err)
	}
	l.add(page)
	nested := slices.ContainsFunc(page.Memories, func(m store.Memory) bool { return path.Dir(m.Path)+"/" != dir })
	switch q.Page = page.Next; {
	case q.Page == "":
		return nil
	case nested:
		return l.tree(ctx, dir)
	}
	return pages(ctx, l, q, l.add)
}
