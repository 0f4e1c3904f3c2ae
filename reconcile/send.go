package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memfs/store"
	"memfs/store/replica"
)

// maxFailures is how many requests in a row may stay unanswered before the rest
// is left to the next pass.
const maxFailures = 8

// result is what became of one send.
type result struct {
	index int
	// sent: the store has it.
	sent bool
	// refused: the store will never have it.
	refused bool
	// full: the store takes no more creates, as it seems.
	full bool
	// again: the store is other than the view said; another round settles it.
	again bool
	// stop: the store wants no more requests now.
	stop bool
	// err is why the store did not do it, where a later pass may succeed.
	err error
}

// sendAll sends what a plan says: started in its order, each after what it
// depends on, at most maxSends at once. Each goes its own way, so that a slow
// one holds back nothing but what depends on it; a timed pass does not wait for
// it longer than an interval.
func (p *passing) sendAll(ctx context.Context, actions []Action) error {
	if len(actions) == 0 {
		return nil
	}
	q := &queue{p: p, actions: actions, state: make([]progress, len(actions)), results: make(chan result, len(actions)),
		limit: maxSends}
	var frozen bool
	if q.order, frozen = p.turns(actions); frozen {
		q.limit = 1
	}
	var patience <-chan time.Time
	if !p.o.Everything {
		timer := time.NewTimer(p.Reconciler.o.Interval)
		defer timer.Stop()
		patience = timer.C
	}
	return q.run(ctx, patience)
}

type progress uint8

const (
	queued progress = iota
	running
	sent
	unsent
)

// queue is the sends of one plan going on.
type queue struct {
	p        *passing
	actions  []Action
	order    []int
	state    []progress
	results  chan result
	limit    int
	running  int
	failures int
	stopped  bool
	// full: no more creates.
	full  bool
	fault error
}

func (q *queue) run(ctx context.Context, patience <-chan time.Time) error {
	for q.start(ctx); q.running > 0; q.start(ctx) {
		select {
		case res := <-q.results:
			q.done(res)
		case <-patience:
			q.stopped = true
			q.leave()
			return q.fault
		}
	}
	q.leave()
	return q.fault
}

// start starts what may be started.
func (q *queue) start(ctx context.Context) {
	for _, i := range q.order {
		if q.stopped || q.running >= q.limit || ctx.Err() != nil {
			return
		}
		if q.state[i] != queued || !q.ready(i) {
			continue
		}
		q.state[i] = running
		q.running++
		go func() {
			res := q.p.Reconciler.send(ctx, q.actions[i])
			if q.actions[i].Op == replica.OpCreate && !res.sent {
				q.p.missed(q.actions[i])
			}
			res.index = i
			q.results <- res
		}()
	}
}

// ready reports whether all that a send depends on has succeeded. Where
// something has not, the send is given up.
func (q *queue) ready(i int) bool {
	if q.full && q.actions[i].Op == replica.OpCreate {
		q.state[i] = unsent
		return false
	}
	for _, j := range q.actions[i].After {
		switch q.state[j] {
		case unsent:
			q.state[i] = unsent
			return false
		case queued, running:
			return false
		}
	}
	return true
}

func (q *queue) done(res result) {
	q.running--
	a := q.actions[res.index]
	q.state[res.index] = unsent
	switch {
	case res.sent:
		q.state[res.index] = sent
		q.failures, q.limit = 0, maxSends
		delete(q.p.failed, a.Local)
		if a.Op == replica.OpDelete {
			q.p.report.Deleted++
		} else {
			q.p.report.Pushed++
		}
	case res.refused:
		q.p.report.Refused++
	case res.err != nil:
		q.failures++
		if q.fault == nil || store.RetryAfter(res.err) > store.RetryAfter(q.fault) {
			q.fault = res.err
		}
	}
	if res.full {
		q.full = true
		q.p.refusals++
	}
	q.stopped = q.stopped || res.stop || q.failures >= maxFailures
	q.p.again = q.p.again || res.again
}

// leave names what was not sent.
func (q *queue) leave() {
	for i, a := range q.actions {
		if q.state[i] != sent {
			q.p.failed[a.Local] = true
		}
	}
}

// send sends one action and settles it.
func (r *Reconciler) send(ctx context.Context, a Action) result {
	if r.o.Slots != nil {
		if r.o.Slots.Acquire(ctx, 1) != nil {
			return result{err: ctx.Err()}
		}
		defer r.o.Slots.Release(1)
	}
	if a.Op == replica.OpDelete && a.Local == a.Base.Path && r.replica.Stands(a.Local) {
		return result{} // put back while the delete waited for its turn (R8)
	}
	text, err := r.content(a)
	switch {
	case errors.Is(err, replica.ErrMoved), errors.Is(err, replica.ErrStale):
		return result{} // changed again: for a later plan
	case errors.Is(err, store.ErrNotText), errors.Is(err, store.ErrTooLarge), errors.Is(err, errRedacted):
		r.refuse(a, err)
		return result{refused: true}
	case errors.Is(err, store.ErrNotFound):
		return r.lost(ctx, a)
	case err != nil:
		return r.failed(ctx, a, err)
	}
	seq, err := r.replica.BeginSend(a.send())
	if err != nil {
		return r.failed(ctx, a, err)
	}
	r.began(seq, a.ID)
	a.began = r.begins()
	defer r.finished()
	m, err := r.request(ctx, a, text)
	return r.settle(ctx, seq, a, m, err)
}

// content is what the action sends, in the state that was planned for.
func (r *Reconciler) content(a Action) ([]byte, error) {
	if !a.Content {
		return nil, nil
	}
	text, err := r.replica.Content(a.Ino, a.Gen)
	if err != nil {
		return nil, err
	}
	if err := r.checkRedacted(a.SHA); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Local, err)
	}
	return text, store.CheckContent(text)
}

// request makes the request; a delete of what is gone is done.
func (r *Reconciler) request(ctx context.Context, a Action, text []byte) (store.Memory, error) {
	switch a.Op {
	case replica.OpDelete:
		err := r.writes.Delete(ctx, a.ID, a.Expect)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return store.Memory{}, err
	case replica.OpCreate:
		return r.writes.Create(ctx, a.Path, text)
	}
	u := store.Update{Expect: a.Expect}
	if a.Content {
		u.Content = &text
	}
	if a.Rename {
		u.Path = &a.Path
	}
	return r.writes.Update(ctx, a.ID, u)
}
