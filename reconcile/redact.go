package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"memfs/store"
	"memfs/store/replica/conflicts"
)

// maxHistories is how many memories are looked at for redactions after one
// listing. Where there are more, they take turns.
const maxHistories = 100

// errRedacted: a local text is one that was redacted in the store (R19).
var errRedacted = errors.New("this very text was redacted in the store, and is not sent again; change it to have it sent")

// former is a text that the store had as the head of a memory.
type former struct {
	memory string
	sha    store.SHA
}

// texts are those kept on this host that may have been redacted in the store:
// the API says which versions were, and no longer what they held, so that has
// to be known from before.
type texts struct {
	// of tells what versions held.
	of map[string]store.SHA
	// kept are the entries of the conflict area, by memory.
	kept map[string][]conflicts.Entry
	// memories are those whose versions are to be looked at, sorted.
	memories []string
}

// purgeRedacted takes off this host what was redacted in the store since it was
// last looked at (R19). It asks nothing where no text is kept that is not the
// store's present one.
func (r *Reconciler) purgeRedacted(ctx context.Context) error {
	t, err := r.suspects()
	if err != nil {
		return err
	}
	versions, err := r.histories(ctx, r.turn(t.memories), t.concern)
	for _, v := range versions {
		if sha, known := t.of[v.ID]; known && v.Redacted() {
			err = errors.Join(err, r.purge(v, sha))
		}
		for _, e := range t.kept[v.MemoryID] {
			if e.Local == v.SHA && !slices.Contains(e.Versions, v.ID) {
				err = errors.Join(err, ignoreMissing(r.replica.Conflicts().Note(e.ID, v.ID)))
			}
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, conflicts.ErrNotFound) {
		return nil
	}
	return err
}

// suspects finds the texts to look for. What was replaced and is in nobody's use
// any more leaves the host here, redacted or not.
func (r *Reconciler) suspects() (texts, error) {
	t := texts{of: map[string]store.SHA{}, kept: map[string][]conflicts.Entry{}}
	entries, err := r.replica.Conflicts().List()
	if err != nil && entries == nil {
		return t, err
	}
	ids := map[string]bool{}
	for _, e := range entries {
		if e.MemoryID != "" {
			t.kept[e.MemoryID] = append(t.kept[e.MemoryID], e)
			ids[e.MemoryID] = true
		}
		for _, version := range e.Versions {
			t.of[version] = e.Local
		}
	}
	formers, err := r.formersHere(entries)
	if err != nil {
		return t, err
	}
	for version, f := range formers {
		t.of[version] = f.sha
		ids[f.memory] = true
	}
	for id := range ids {
		t.memories = append(t.memories, id)
	}
	slices.Sort(t.memories)
	return t, nil
}

// formersHere are the texts that the store had and has no more, and that are
// still on this host.
func (r *Reconciler) formersHere(entries []conflicts.Entry) (map[string]former, error) {
	formers := r.view.formers()
	if len(formers) == 0 {
		return nil, nil
	}
	present := r.view.contents()
	maps.DeleteFunc(formers, func(_ string, f former) bool { return present[f.sha] })
	var shas []store.SHA
	for _, f := range formers {
		shas = append(shas, f.sha)
	}
	here := r.replica.Here(shas)
	if len(here) > 0 {
		if err := r.replica.Checkpoint(); err != nil {
			return nil, err
		}
		here = r.replica.Here(shas)
	}
	for _, e := range entries {
		here[e.Local] = true
	}
	for version, f := range formers {
		if !here[f.sha] {
			r.view.forget(version)
			delete(formers, version)
		}
	}
	return formers, nil
}

// turn chooses whose turn it is.
func (r *Reconciler) turn(ids []string) []string {
	if len(ids) <= maxHistories {
		return ids
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := slices.BinarySearch(ids, r.state.lookedAt)
	if found {
		at++
	}
	chosen := slices.Concat(ids[at:], ids[:at])[:maxHistories]
	r.state.lookedAt = chosen[maxHistories-1]
	return chosen
}

// concern reports whether a version says something about one of the texts.
func (t texts) concern(v store.Version) bool {
	_, known := t.of[v.ID]
	return known && v.Redacted() || slices.ContainsFunc(t.kept[v.MemoryID], func(e conflicts.Entry) bool { return e.Local == v.SHA })
}

// histories are the versions of memories that are wanted.
func (r *Reconciler) histories(ctx context.Context, ids []string, wanted func(store.Version) bool) ([]store.Version, error) {
	var mu sync.Mutex
	var all []store.Version
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxFetches)
	for _, id := range ids {
		group.Go(func() error {
			err := store.EachVersion(ctx, r.reads, store.VersionQuery{MemoryID: id}, func(v store.Version) bool {
				if wanted(v) {
					mu.Lock()
					all = append(all, v)
					mu.Unlock()
				}
				return true
			})
			if err != nil {
				return fmt.Errorf("versions of memory %s: %w", id, err)
			}
			return nil
		})
	}
	err := group.Wait()
	return all, err
}

// purge takes a redacted text off this host, unless it is an empty one, which
// hides nothing, or the store has it in another place.
func (r *Reconciler) purge(v store.Version, sha store.SHA) error {
	if r.stands(sha) {
		return nil
	}
	if err := r.replica.Redact(sha); err != nil {
		return err
	}
	r.view.forget(v.ID)
	r.tell.redacted(v)
	return nil
}

// stands reports whether a text is an empty one or in the store all the same.
func (r *Reconciler) stands(sha store.SHA) bool {
	return sha == store.Hash(nil) || r.view.contents()[sha]
}

// checkRedacted is errRedacted for a text that is not to be sent again.
func (r *Reconciler) checkRedacted(sha store.SHA) error {
	gone, err := r.replica.Conflicts().Redacted(sha)
	if err == nil && gone && !r.stands(sha) {
		err = errRedacted
	}
	return err
}

// lookForRedactions does it in a pass, after the whole store was listed. Where
// it does not succeed, the next pass tries again.
func (p *passing) lookForRedactions(ctx context.Context) {
	if !p.learner.takeListed() {
		return
	}
	err := p.purgeRedacted(ctx)
	switch {
	case err == nil, errors.Is(err, store.ErrUnauthorized), errors.Is(err, store.ErrNotFound):
		return // versions are not for us (R14): with the next listing
	case ctx.Err() == nil:
		p.tell.log.Debug("redactions could not be looked for", zap.Error(err))
	}
	p.learner.putListed()
}
