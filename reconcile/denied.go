package reconcile

import (
	"errors"
	"slices"

	"memfs/store"
	"memfs/store/replica"
)

// maxDenials bounds what is remembered: files that were refused may be gone.
const maxDenials = 10_000

// denials is what is known of writes for which our credential was refused. That
// may be the credential's fault, and concern all, or that of one content that a
// proxy on the way does not let through: both are answered alike (403). So all
// pushes stop, but for one a pass, a different one each time; where one is taken
// it was not the credential (R14).
type denials struct {
	// frozen: the last answer was a refusal, and nothing was taken since.
	frozen bool
	// taken counts the writes that the store took.
	taken int
	// turn counts the refusals; of is the last one by local path.
	turn int
	of   map[string]denial
}

// denial is a write that was refused.
type denial struct {
	op   replica.Op
	sha  store.SHA
	turn int
	// began and taken are how many writes had been taken when it began, and when
	// it was answered.
	began, taken int
	// itself: it was refused for what it is, as it seemed.
	itself bool
}

// denied notes that our credential was refused for a write. It reports whether
// that was for what it is: it was refused before, and others were taken since.
// Where no other was refused it is enough that they were taken meanwhile; where
// some were, the credential may have lost its right in between. 401 and 402 are
// never for one write alone.
func (d *denials) denied(a Action, forbidden bool) (itself bool) {
	was, again := d.of[a.Local]
	again = again && forbidden && was.op == a.Op && was.sha == a.SHA
	switch {
	case again && was.taken < d.taken:
		itself = true
	case again && was.began < d.taken && d.unsure() == 1:
		itself, d.frozen = true, false
	}
	d.turn++
	if d.of == nil || len(d.of) >= maxDenials {
		d.of = map[string]denial{} // each is found out once more
	}
	d.of[a.Local] = denial{op: a.Op, sha: a.SHA, turn: d.turn, began: a.began.taken, taken: d.taken, itself: itself}
	d.frozen = d.frozen || !itself
	return itself
}

// unsure counts the refusals of which it is not known what they are for.
func (d *denials) unsure() int {
	n := 0
	for _, was := range d.of {
		if !was.itself {
			n++
		}
	}
	return n
}

// took notes that the store took a write. Where all had been stopped it returns
// the paths of what was refused for what it is: perhaps it was not, and it is
// tried once more.
func (d *denials) took(a Action) (again []string) {
	d.taken++
	delete(d.of, a.Local)
	if !d.frozen {
		return nil
	}
	d.frozen = false
	for path, was := range d.of {
		if was.itself {
			again = append(again, path)
		}
	}
	return again
}

// order is the order in which to start actions, as indices: those that were
// refused last, the longest ago first.
func (d *denials) order(actions []Action) []int {
	order := make([]int, len(actions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return d.of[actions[i].Local].turn - d.of[actions[j].Local].turn })
	return order
}

// denied notes a write for which our credential was refused, and reports
// whether that was for what it is.
func (r *Reconciler) denied(a Action, err error) (itself bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.denials.denied(a, errors.Is(err, store.ErrForbidden))
}

// allowed notes that the store took a write.
func (r *Reconciler) allowed(a Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range r.state.denials.took(a) {
		delete(r.state.refused, path)
	}
}

// turns is the order in which to start actions, and whether one of them is to
// be taken before the others go.
func (r *Reconciler) turns(actions []Action) (order []int, frozen bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.denials.order(actions), r.state.denials.frozen
}
