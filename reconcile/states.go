package reconcile

import (
	"context"
	"errors"
	"fmt"

	"memfs/store"
	"memfs/store/replica"
)

// learnt notes a memory's state that an answer told.
func (r *Reconciler) learnt(m store.Memory) {
	if !r.view.Put(m) {
		r.learner.distrust()
	}
}

// errLost: a file that was moved here has a text that the store has deleted for
// good before it was needed here.
var errLost = errors.New("its content was never needed here, and is in the store no more; write it anew")

// lost is for a text that is neither here nor in the store, unless it is the
// store that is not there.
func (r *Reconciler) lost(ctx context.Context, a Action) result {
	if _, err := r.reads.Info(ctx); err != nil {
		return result{stop: true, err: fmt.Errorf("store: %w", err)}
	}
	r.refuse(a, errLost)
	return result{refused: true}
}

// refuse remembers that the store will not take a content, or, where only the
// path was sent, a name (R11).
func (r *Reconciler) refuse(a Action, err error) {
	refusal := Refusal{SHA: a.SHA, Name: !a.Content, Reason: err.Error()}
	for _, ours := range []error{store.ErrNotText, errRedacted} {
		if errors.Is(err, ours) {
			refusal.Reason = ours.Error()
		}
	}
	r.mu.Lock()
	r.state.refused[a.Local] = refusal
	r.mu.Unlock()
	r.replica.SetState(a.Ino, a.Gen, replica.Refused, refusal.Reason)
	r.tell.rejected(a, refusal.Reason)
}

// forgive forgets a refusal once the store has taken what stands at the path.
func (r *Reconciler) forgive(a Action) {
	if !a.Content {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.state.refused, a.Local)
	delete(r.state.full.tried, a.Local)
}

// setArchived notes that the store takes no creates and updates any more. That
// is never taken back.
func (r *Reconciler) setArchived() {
	r.mu.Lock()
	r.state.archived = true
	r.mu.Unlock()
	r.tell.archived()
}
