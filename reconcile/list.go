package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"memfs/store"
)

// maxFetches is how many reads of one store go on at once (R4).
const maxFetches = 16

// pages calls f with each page of a listing. One that does not end is an error.
func pages(ctx context.Context, r store.Reader, q store.ListQuery, f func(store.ListPage) error) error {
	var refused error
	err := store.EachPage(ctx, r, q, func(p store.ListPage) bool {
		refused = f(p)
		return refused == nil
	})
	if err == nil {
		err = refused
	}
	return directory(q.Prefix, err)
}

// directory says which directory's listing failed; that it is a listing, the
// store's own error says.
func directory(dir string, err error) error {
	if err == nil || dir == "" {
		return err
	}
	return fmt.Errorf("below %s: %w", dir, err)
}

// listing is a store's memories by id. A memory that changed while the listing
// was read may come twice; the later state counts.
type listing map[string]store.Memory

// maxListed is how many memories of one store are taken, many times what a
// store may hold (R11): each takes memory here.
const maxListed = 250_000

func (l listing) add(memories []store.Memory) error {
	for _, m := range memories {
		if old, twice := l[m.ID]; !twice || !m.UpdatedAt.Before(old.UpdatedAt) {
			l[m.ID] = m
		}
	}
	if len(l) > maxListed {
		return fmt.Errorf("%w: more than %d memories", store.ErrProtocol, maxListed)
	}
	return nil
}

// listAll lists the whole store, one page after the other.
func listAll(ctx context.Context, r store.Reader) (listing, error) {
	all := listing{}
	err := pages(ctx, r, store.ListQuery{}, func(p store.ListPage) error { return all.add(p.Memories) })
	return all, err
}

// listParallel lists the whole store directory by directory, which takes more
// requests than listAll and less time (R1).
func listParallel(ctx context.Context, r store.Reader) (listing, error) {
	l := &lister{Reader: r, slots: make(chan struct{}, maxFetches), all: listing{}}
	err := l.root(ctx)
	return l.all, err
}

// maxRequests is how many requests a listing by directories may take: a tree that
// needs more is one that somebody made up.
const maxRequests = 20_000

// lister lists with a bounded number of requests at a time.
type lister struct {
	store.Reader
	slots chan struct{}

	asked atomic.Int64

	mu    sync.Mutex
	all   listing
	taken int // memories in answers, those that came twice as well
}

// List is store.Reader's.
func (l *lister) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	if l.asked.Add(1) > maxRequests {
		return store.ListPage{}, fmt.Errorf("%w: directories without end", store.ErrProtocol)
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return l.Reader.List(ctx, q)
	case <-ctx.Done():
		return store.ListPage{}, &store.UnavailableError{Cause: ctx.Err()}
	}
}

func (l *lister) add(p store.ListPage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken += len(p.Memories)
	return l.all.add(p.Memories)
}

// checkBelow checks that a directory lies below the one whose listing names it,
// and no deeper than a path can be.
func checkBelow(dir, parent string) error {
	below, ok := strings.CutPrefix(dir, cmp.Or(parent, "/"))
	if !ok || below == "" || !strings.HasSuffix(dir, "/") || len(dir) > store.MaxPath {
		return fmt.Errorf("%w: list %q: %.80q is not below it", store.ErrProtocol, parent, dir)
	}
	return nil
}

func (l *lister) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

// root lists the whole store: a small one is a single page, which is asked for
// beside the first request of a large one, so that neither waits.
func (l *lister) root(ctx context.Context) error {
	var children []string
	var small bool
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		page, err := l.List(groupCtx, store.ListQuery{})
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		small = page.Next == ""
		return l.add(page)
	})
	group.Go(func() (err error) {
		children, err = l.children(groupCtx, "")
		return err
	})
	if err := group.Wait(); err != nil || small {
		return err
	}
	return l.descend(ctx, "", children)
}

// tree lists what is below a directory through its child directories.
func (l *lister) tree(ctx context.Context, dir string) error {
	children, err := l.children(ctx, dir)
	if err != nil {
		return err
	}
	return l.descend(ctx, dir, children)
}

// children lists what is in a directory itself, and returns its child
// directories.
func (l *lister) children(ctx context.Context, dir string) (children []string, err error) {
	err = pages(ctx, l, store.ListQuery{Prefix: dir, Children: true}, func(p store.ListPage) error {
		if len(children)+len(p.Prefixes) > maxListed { // each holds a memory
			return fmt.Errorf("%w: more than %d directories", store.ErrProtocol, maxListed)
		}
		for _, child := range p.Prefixes {
			if err := checkBelow(child, dir); err != nil {
				return err
			}
		}
		children = append(children, p.Prefixes...)
		return l.add(p)
	})
	return children, err
}

// descend lists the child directories of one. Where the first of them turn out
// to hold so little that a page of everything brings more than all requests of
// a moment, it lists page by page.
func (l *lister) descend(ctx context.Context, dir string, children []string) error {
	first := children[:min(len(children), maxFetches)]
	before := l.count()
	if err := l.each(ctx, first); err != nil || len(first) == len(children) {
		return err
	}
	if l.count()-before < store.MaxBasicPage {
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
		return directory(dir, err)
	}
	if err := l.add(page); err != nil {
		return err
	}
	nested := slices.ContainsFunc(page.Memories, func(m store.Memory) bool { return path.Dir(m.Path)+"/" != dir })
	switch q.Page = page.Next; {
	case q.Page == "":
		return nil
	case nested:
		return l.tree(ctx, dir)
	}
	return pages(ctx, l, q, l.add)
}
