package store

import (
	"context"
	"fmt"
)

const (
	// maxPages is how many pages one listing may have: a full view of several
	// times the memories that a store may hold.
	maxPages = 20_000
	// maxEmptyPages is how many of them in a row may hold nothing.
	maxEmptyPages = 100
	// MaxCursor is the longest cursor in bytes: it has to fit a request's line.
	MaxCursor = 4 << 10
)

// Pages watches that a listing read page by page comes to an end, whatever the
// server does. The zero value is for one listing.
type Pages struct {
	seen  map[SHA]struct{}
	empty int
}

// More reports whether a page is to be followed by the one at its cursor next.
// entries is what the page held. Cursors that come again, pages without end and
// cursors over MaxCursor are ErrProtocol.
func (p *Pages) More(next string, entries int) (bool, error) {
	if next == "" {
		return false, nil
	}
	p.empty++
	if entries > 0 {
		p.empty = 0
	}
	if p.seen == nil {
		p.seen = make(map[SHA]struct{})
	}
	sum := Hash([]byte(next))
	_, again := p.seen[sum]
	p.seen[sum] = struct{}{}
	switch {
	case len(next) > MaxCursor:
		return false, fmt.Errorf("%w: a cursor of %d bytes", ErrProtocol, len(next))
	case again:
		return false, fmt.Errorf("%w: the pages of a listing go round", ErrProtocol)
	case p.empty > maxEmptyPages, len(p.seen) > maxPages:
		return false, fmt.Errorf("%w: a listing does not end", ErrProtocol)
	}
	return true, nil
}

// EachVersion calls f with versions, the newest first, page by page until it
// returns false.
func EachVersion(ctx context.Context, r Reader, q VersionQuery, f func(Version) bool) error {
	for pages := (Pages{}); ; {
		page, err := r.Versions(ctx, q)
		if err != nil {
			return err
		}
		for _, v := range page.Versions {
			if !f(v) {
				return nil
			}
		}
		more, err := pages.More(page.Next, len(page.Versions))
		if !more {
			return err
		}
		q.Page = page.Next
	}
}

// EachPage calls f with the pages of a listing until it returns false.
func EachPage(ctx context.Context, r Reader, q ListQuery, f func(ListPage) bool) error {
	for pages := (Pages{}); ; {
		page, err := r.List(ctx, q)
		if err != nil || !f(page) {
			return err
		}
		more, err := pages.More(page.Next, len(page.Memories)+len(page.Prefixes))
		if !more {
			return err
		}
		q.Page = page.Next
	}
}
