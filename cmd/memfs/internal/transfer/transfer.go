package transfer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"memfs/store"
)

// Outcome is what became of one file or memory.
type Outcome string

// The outcomes.
const (
	Created Outcome = "created"
	Updated Outcome = "updated"
	// Same: both sides had it already.
	Same Outcome = "same"
	// Differs: the other side has another text, and may keep it.
	Differs Outcome = "differs"
	// LocalOnly: a file that memfs never sends (R17), and the marker.
	LocalOnly Outcome = "local only"
	// Failed: it could not be copied.
	Failed Outcome = "failed"
)

// Options say how to copy.
type Options struct {
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
	// Overwrite replaces texts that differ on the other side.
	Overwrite bool
	// Total hears how many there are, Done of each one; both may be nil. Done
	// is called by one goroutine at a time.
	Total func(int)
	Done  func(Item)
}

// Item is one file or memory.
type Item struct {
	Path    string  `json:"path"`
	Outcome Outcome `json:"outcome"`
	// Reason is why it differs or failed.
	Reason string `json:"reason,omitempty"`
}

// Result is what became of all of them, by path.
type Result struct{ Items []Item }

// Count counts an outcome.
func (r Result) Count(o Outcome) int {
	n := 0
	for _, i := range r.Items {
		if i.Outcome == o {
			n++
		}
	}
	return n
}

// Problems are the items that were not copied though they should have been.
func (r Result) Problems() []Item {
	return slices.DeleteFunc(slices.Clone(r.Items), func(i Item) bool { return i.Outcome != Differs && i.Outcome != Failed })
}

// parallel is how many requests are made at the same time.
const parallel = 8

// each copies all of them, and stops early only where going on makes no sense.
func each[T any](ctx context.Context, all []T, o Options, one func(context.Context, T) (Item, error)) (Result, error) {
	if o.Total != nil {
		o.Total(len(all))
	}
	var mu sync.Mutex
	var result Result
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, x := range all {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			item, err := one(groupCtx, x)
			if err != nil {
				if hopeless(err) || groupCtx.Err() != nil {
					return err
				}
				item.Outcome, item.Reason = Failed, err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			result.Items = append(result.Items, item)
			if o.Done != nil {
				o.Done(item)
			}
			return nil
		})
	}
	err := group.Wait()
	slices.SortFunc(result.Items, func(a, b Item) int { return cmp.Compare(a.Path, b.Path) })
	return result, cmp.Or(context.Cause(ctx), err)
}

// hopeless is what would happen to every other memory too.
func hopeless(err error) bool {
	return store.Transient(err) || errors.Is(err, store.ErrUnauthorized) || errors.Is(err, store.ErrArchived) || errors.Is(err, store.ErrFull)
}

const (
	attempts  = 6
	firstWait = time.Second
)

// patiently asks again while the store is out of reach or asks to wait.
func patiently(ctx context.Context, ask func() error) error {
	wait := firstWait
	for i := 1; ; i++ {
		err := ask()
		if !store.Transient(err) || i == attempts {
			return err
		}
		select {
		case <-time.After(max(wait, store.RetryAfter(err))):
		case <-ctx.Done():
			return err
		}
		wait *= 2
	}
}

// list are all memories of a store.
func list(ctx context.Context, r store.Reader) ([]store.Memory, error) {
	var all []store.Memory
	q := store.ListQuery{}
	for pages := (store.Pages{}); ; {
		var page store.ListPage
		err := patiently(ctx, func() (err error) { page, err = r.List(ctx, q); return err })
		if err != nil {
			return nil, err
		}
		all = append(all, page.Memories...)
		if more, err := pages.More(page.Next, len(page.Memories)); !more {
			return all, err
		}
		q.Page = page.Next
	}
}
