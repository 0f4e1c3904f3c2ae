package reconcile

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"memfs/store"
	"memfs/store/replica"
)

const (
	// hydrators is how many requests the background fetching has going on: few,
	// so that it is in nobody's way, and takes the memory of as many answers.
	hydrators = 4
	// manyContents leave enough garbage to be given back at once.
	manyContents = 500
)

// hydrate fetches contents that were never needed here, in the background,
// after the start and after passes that brought new memories (R1).
func (r *Reconciler) hydrate(ctx context.Context) {
	for {
		var later <-chan time.Time
		if unfetched := r.replica.Unfetched(0); len(unfetched) > 0 {
			if err := r.hydrateAll(ctx, unfetched); err != nil {
				later = time.After(max(maxBackoff, store.RetryAfter(err)))
			}
			if len(unfetched) >= manyContents {
				debug.FreeOSMemory()
			}
		}
		select {
		case <-r.line.pulled:
		case <-later:
		case <-ctx.Done():
			return
		}
	}
}

// hydrateAll fetches contents in whichever way takes fewer requests for each
// top directory: full pages, or one by one; where pages of the whole store take
// so few that fetching directories at the same time is no faster, in these. The
// error is one that passes by itself; it ends the rest, too. What fails for
// another reason is left until it is read or until a later pass brings something.
func (r *Reconciler) hydrateAll(ctx context.Context, unfetched []replica.Base) error {
	wanted := map[string][]replica.Base{}
	for _, b := range unfetched {
		wanted[topOf(b.Path)] = append(wanted[topOf(b.Path)], b)
	}
	have, all := map[string]int{}, 0
	for b := range r.replica.Bases() {
		have[topOf(b.Path)]++
		all++
	}
	requests := 0
	for top, bases := range wanted {
		requests += min(fullPages(have[top]), len(bases))
	}
	if fullPages(all)*hydrators <= requests {
		return transient(r.hydratePages(ctx, store.ListQuery{}))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hydrators)
	for top, bases := range wanted {
		if fullPages(have[top]) <= len(bases) {
			group.Go(func() error { return transient(r.hydratePages(ctx, store.ListQuery{Prefix: top, Children: top == ""})) })
			continue
		}
		for _, b := range bases {
			group.Go(func() error { return transient(r.hydrateOne(ctx, b)) })
		}
	}
	return group.Wait()
}

// transient is err if it passes by itself.
func transient(err error) error {
	if !store.Transient(err) {
		return nil
	}
	return err
}

// topOf is the directory prefix that a path is hydrated with: its top
// directory, "" for what lies in the root.
func topOf(path string) string {
	if at := strings.IndexByte(path[1:], '/'); at >= 0 {
		return path[:at+2]
	}
	return ""
}

// fullPages is how many pages n memories are with their contents.
func fullPages(n int) int { return (n + store.MaxFullPage - 1) / store.MaxFullPage }

func (r *Reconciler) hydratePages(ctx context.Context, q store.ListQuery) error {
	q.Full = true
	return pages(ctx, patient{r.reads}, q, func(p store.ListPage) error {
		for _, m := range p.Memories {
			r.keep(m)
		}
		return nil
	})
}

func (r *Reconciler) hydrateOne(ctx context.Context, b replica.Base) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m, err := patient{r.reads}.Get(ctx, b.ID)
	if err == nil {
		r.keep(m)
	}
	return err
}

// keep gives a content to the replica if it is the one that base has.
func (r *Reconciler) keep(m store.Memory) {
	if b, known := r.replica.Base(m.ID); known && b.SHA == m.SHA && m.Content != nil {
		// Where there is no room, or the content is not what its hash says,
		// it is fetched and checked when it is read.
		_ = r.replica.PutContent(m.SHA, m.Content)
	}
}
