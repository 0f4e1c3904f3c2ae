package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"memfs/store"
)

// maxBackoff is the longest wait after failed passes, unless four intervals are
// longer or the store asks for more (R14).
const maxBackoff = 30 * time.Second

// Status is what is known of a store's reconciliation.
type Status struct {
	// Last is the report of the last pass; zero before the first.
	Last Report `json:"last_pass"`
	// Error is why the last pass failed; "" if it did not. Failures counts the
	// passes that failed since one succeeded.
	Error    string `json:"error,omitempty"`
	Failures int    `json:"failures,omitempty"`
	// Next is when the next timed pass is due; zero while there is none.
	Next time.Time `json:"next_pass,omitzero"`
	// Archived, Full and Frozen are states of the store: it takes no creates
	// and updates; it has no room for what is to be created; it refused our
	// credential for a write.
	Archived bool `json:"archived,omitempty"`
	Full     bool `json:"full,omitempty"`
	Frozen   bool `json:"frozen,omitempty"`
	// Hidden is how many memories cannot be shown as files (R12).
	Hidden int `json:"hidden,omitempty"`
	// Total is what was done since this process attached the store.
	Total Totals `json:"total"`
}

// Totals add up the passes of a process.
type Totals struct {
	Passes int64 `json:"passes"`
	// Failed passes are those that ended with an error.
	Failed    int64 `json:"failed"`
	Pushed    int64 `json:"pushed"`
	Deleted   int64 `json:"deleted"`
	Pulled    int64 `json:"pulled"`
	Conflicts int64 `json:"conflicts"`
	// Requests counts those beside passes too: at attach, and for contents.
	Requests int64 `json:"requests"`
}

func (t *Totals) add(r Report, err error) {
	t.Passes++
	if err != nil {
		t.Failed++
	}
	t.Pushed += int64(r.Pushed)
	t.Deleted += int64(r.Deleted)
	t.Pulled += int64(r.Pulled)
	t.Conflicts += int64(r.Conflicts)
}

// line is what the loop knows of its passes.
type line struct {
	kick     chan struct{} // a pass is wanted
	pulled   chan struct{} // there may be something to hydrate
	last     Report
	err      error
	failures int
	steady   time.Time // since when passes have not failed
	next     time.Time
	total    Totals
}

// Status reports the present state.
func (r *Reconciler) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Last: r.line.last, Failures: r.line.failures, Next: r.line.next,
		Archived: r.state.archived, Full: r.state.waiting, Frozen: r.state.denials.frozen, Hidden: r.view.Hidden(),
		Total: r.line.total}
	s.Total.Requests = r.count.Load()
	if r.line.err != nil {
		s.Error = r.line.err.Error()
	}
	return s
}

// Run makes a pass every interval, later and later while they fail, until ctx
// ends. Requests that are going on then are cut off; what became of them is
// found out by the next pass, of this process or another.
func (r *Reconciler) Run(ctx context.Context) {
	var helpers sync.WaitGroup
	defer helpers.Wait()
	if !r.o.NoHydrate {
		helpers.Go(func() { r.hydrate(ctx) })
	}
	delay := r.o.Interval
	for r.wait(ctx, delay) {
		_, err := r.Pass(ctx, PassOptions{})
		delay = r.delay(err)
	}
	r.setNext(time.Time{})
	r.awaitSends(context.WithoutCancel(ctx))
}

// wait waits for the next pass: until delay is over, or one is wanted at once.
// It reports false when ctx ends.
func (r *Reconciler) wait(ctx context.Context, delay time.Duration) bool {
	r.setNext(time.Now().Add(delay))
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.line.kick:
		// Not more often than the shortest interval, whatever asks for it.
		select {
		case <-time.After(min(delay, MinInterval)):
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Nudge asks for a pass soon, for one who has seen that the view is not what
// the store has (R2).
func (r *Reconciler) Nudge() {
	select {
	case r.line.kick <- struct{}{}:
	default:
	}
}

// Sync makes a pass now that sends everything, and waits for it. It begins
// after the call; one that is going on is waited for first. Where passes had
// failed and this one did not, timed ones need not be late any more.
func (r *Reconciler) Sync(ctx context.Context, allowDeletes bool) (Report, error) {
	late := r.Status().Failures > 0
	report, err := r.Pass(ctx, PassOptions{Everything: true, AllowDeletes: allowDeletes})
	if err == nil && late {
		r.Nudge()
	}
	return report, err
}

// Final makes the last pass, which sends everything, within ctx (R15). The
// loop must have ended, and no later pass makes up for a moment in which the
// store is busy: the pass is made again. What did not go out is in the report and
// stays in the journal.
func (r *Reconciler) Final(ctx context.Context) (Report, error) {
	began := time.Now()
	report, err := store.Patiently(ctx, func(ctx context.Context) (Report, error) {
		return r.Pass(ctx, PassOptions{Everything: true})
	})
	switch {
	case len(report.Unsent) == 0:
	case ctx.Err() != nil:
		r.o.Log.Warn(fmt.Sprintf("final memory sync cut off after %s; what was not uploaded stays in the journal",
			time.Since(began).Round(time.Second)),
			zap.String("code", "final_cut_off"), zap.String("store", r.replica.Store().ID), zap.Strings("paths", report.Unsent),
			zap.String("remedy", "the next attach of this store on this host sends it; so does memfs recover push"))
	default:
		r.o.Log.Warn("final memory sync left changes in the journal",
			zap.String("code", "unsent"), zap.String("store", r.replica.Store().ID), zap.Strings("paths", report.Unsent),
			zap.String("remedy", "memfs inspect says why a file waits; the next attach of this store on this host sends what can be sent, and so does memfs recover push"))
	}
	if report.HeldDeletes > 0 {
		r.o.Log.Warn("held deletes are not sent", zap.String("code", "held_deletes"),
			zap.String("store", r.replica.Store().ID), zap.Int("deletes", report.HeldDeletes),
			zap.String("remedy", "delete again and run memfs sync --allow-deletes, or mount with --allow-mass-delete"))
	}
	return report, err
}

// delay is the time to the next pass: the interval, or after a failure twice
// that with each further one, with jitter, so that many hosts do not come back
// at the same moment.
func (r *Reconciler) delay(err error) time.Duration {
	r.mu.Lock()
	failures := r.line.failures
	r.mu.Unlock()
	if failures == 0 {
		return r.o.Interval
	}
	longest := max(4*r.o.Interval, maxBackoff)
	delay := longest
	if failures < 8 {
		delay = min(r.o.Interval<<failures, longest)
	}
	delay -= time.Duration(rand.Int64N(int64(delay)/4 + 1))
	return max(delay, store.RetryAfter(err))
}

// record keeps how a pass ended.
func (r *Reconciler) record(report Report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line.last, r.line.err = report, err
	r.line.total.add(report, err)
	if err == nil {
		if r.line.failures > 0 {
			r.line.failures, r.line.steady = 0, time.Now()
		}
	} else if !errors.Is(err, context.Canceled) {
		r.line.failures++
	}
}

func (r *Reconciler) setNext(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line.next = at
}
