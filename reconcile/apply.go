package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"memfs/store"
	"memfs/store/replica"
)

// maxSet bounds what the records of one set take in the journal, in bytes, since
// its frames are bounded. Ten thousand new memories with usual paths fit; the
// changes of a store that is far over its cap are split, and what one part finds
// in its place waits for the next pass.
const maxSet = 12 << 20

// recordsOf is over what the records of a change take, in bytes, with those of
// all directories of its path.
func recordsOf(c Change) int {
	size := 256
	if b := c.Base; b != nil {
		size += 2*len(b.Path) + 3*len(b.ID) + 2*len(b.VersionID) + 64*strings.Count(b.Path, "/")
	}
	return size
}

// parts splits changes into sets that the journal can take.
func parts(changes []Change) (sets [][]Change) {
	for len(changes) > 0 {
		n, size := 1, recordsOf(changes[0])
		for n < len(changes) && size+recordsOf(changes[n]) <= maxSet {
			size += recordsOf(changes[n])
			n++
		}
		sets = append(sets, changes[:n])
		changes = changes[n:]
	}
	return sets
}

// applyChanges makes the changes that came from the store, as one set. Contents
// of files that are in use here are fetched before, so that nobody has to wait
// for them afterwards.
func (p *passing) applyChanges(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	changes, fault := p.fetchFor(ctx, changes)
	for _, part := range parts(changes) {
		if err := p.applySet(part); err != nil {
			fault = err
		}
	}
	return fault
}

func (p *passing) applySet(changes []Change) error {
	set := make([]replica.Apply, len(changes))
	for i, c := range changes {
		set[i] = c.Apply
	}
	applied, err := p.replica.Apply(set)
	kept := sync.OnceValue(p.kept)
	for i, c := range changes {
		if applied[i] {
			p.appliedChange(c, kept)
		}
	}
	if err != nil {
		return fmt.Errorf("apply %d remote changes: %w", len(set), err)
	}
	return nil
}

func (p *passing) appliedChange(c Change, kept func() map[loss]string) {
	if c.Place != replica.KeepTree {
		p.report.Pulled++
	}
	conflict := ""
	if c.Loser != nil {
		p.report.Conflicts++
	}
	if c.Loser != nil && c.Note != nil {
		conflict = kept()[loss{c.Note.Path, c.Note.Local}]
	}
	if c.Note != nil {
		p.tell.note(*c.Note, conflict)
	}
}

// loss is a text that lost, and where.
type loss struct {
	path string
	sha  store.SHA
}

// kept finds the newest entries of the conflict area, once for all changes of a
// set: each is a file to be read.
func (p *passing) kept() map[loss]string {
	entries, err := p.replica.Conflicts().List()
	if err != nil && entries == nil {
		return nil
	}
	ids := make(map[loss]string, len(entries))
	for _, e := range entries {
		ids[loss{e.Path, e.Local}] = e.ID
	}
	return ids
}

// fetchFor fetches the contents that changes need, and leaves out those whose
// content cannot be had now. The error is the first that asks to slow down.
func (p *passing) fetchFor(ctx context.Context, changes []Change) (ready []Change, fault error) {
	var mu sync.Mutex
	left := map[int]bool{}
	here := p.fetchPages(ctx, changes)
	var group errgroup.Group
	group.SetLimit(maxFetches)
	for i, c := range changes {
		if !c.needsContent() || here[c.Base.VersionID] {
			continue
		}
		group.Go(func() error {
			err := p.fetch(ctx, *c.Base)
			if err == nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			left[i] = true
			if !errors.Is(err, errStale) {
				p.tell.fetchFailed(c.Base.Path, err)
				fault = err
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	if len(left) == 0 {
		return changes, nil
	}
	for i, c := range changes {
		if !left[i] {
			ready = append(ready, c)
		}
	}
	return ready, fault
}

// needsContent reports whether a content is to be fetched before the change.
func (c Change) needsContent() bool { return c.Fetch && c.Base != nil && c.Base.Size > 0 }

// fewFetches is up to how many contents are fetched one by one.
const fewFetches = 2

// fetchPages fetches contents of many changes in pages of versions, which are
// the newest ones, and returns the versions whose content is here. Where it does
// not find them, they are fetched one by one.
func (p *passing) fetchPages(ctx context.Context, changes []Change) map[string]bool {
	wanted := map[string]store.SHA{}
	var q store.VersionQuery
	for _, c := range changes {
		if !c.needsContent() {
			continue
		}
		wanted[c.Base.VersionID] = c.Base.SHA
		if q.Since.IsZero() || c.Base.UpdatedAt.Before(q.Since) {
			q.Since = c.Base.UpdatedAt
		}
	}
	here := map[string]bool{}
	q.Full = true
	for len(wanted)-len(here) > fewFetches {
		page, err := p.reads.Versions(ctx, q)
		if err != nil {
			return here // what is wrong shows when they are fetched one by one
		}
		found := len(here)
		for _, v := range page.Versions {
			if sha, want := wanted[v.ID]; want && p.replica.PutContent(sha, v.Content) == nil {
				here[v.ID] = true
			}
		}
		if len(here) == found || page.Next == "" || page.Next == q.Page {
			return here
		}
		q.Page = page.Next
	}
	return here
}

// errStale: the memory changed again since the view was made.
var errStale = errors.New("changed again")

// fetch brings a memory's content here. What turns out to have changed again
// is learnt instead, for the next round.
func (p *passing) fetch(ctx context.Context, b replica.Base) error {
	m, err := p.reads.Get(ctx, b.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if err := p.confirmGone(ctx, b.ID); err != nil {
			return err
		}
	case err != nil:
		return err
	case m.SHA == b.SHA && m.Path == b.Path:
		if err := p.replica.PutContent(m.SHA, m.Content); errors.Is(err, store.ErrProtocol) {
			return err
		}
		return nil // where there is no room it is fetched when it is read
	default:
		p.learnt(m)
	}
	p.askAgain()
	return errStale
}

func (p *passing) askAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = true
}
