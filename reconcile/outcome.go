package reconcile

import (
	"context"
	"errors"
	"fmt"

	"memfs/store"
	"memfs/store/replica"
)

// settle notes what became of a request. Where the store says that the memory
// is other than expected, its present state is asked for: if that is what was
// sent, an earlier try had arrived; if not, the view learns it, and the next
// round decides (sync-cases 7). Where no usable answer came, the send stays
// open: what the store shows when it is looked at next tells.
func (r *Reconciler) settle(ctx context.Context, seq uint64, a Action, m store.Memory, err error) result {
	var taken *store.PathConflictError
	switch {
	case err == nil:
		return r.succeeded(seq, a, m)
	case errors.Is(err, store.ErrPrecondition):
		return r.look(ctx, seq, a, a.ID)
	case errors.Is(err, store.ErrNotFound):
		return r.vanished(ctx, seq, a)
	case errors.As(err, &taken):
		return r.taken(ctx, seq, a, taken.ID)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrProtocol), ctx.Err() != nil:
		r.ended(seq)
		return r.failed(ctx, a, err)
	}
	// Anything else says that nothing was changed.
	r.close(seq, nil)
	return r.rejected(ctx, a, err)
}

// failed is for what a later pass may do.
func (r *Reconciler) failed(ctx context.Context, a Action, err error) result {
	if ctx.Err() == nil {
		r.tell.sendFailed(a, err)
	}
	return result{err: fmt.Errorf("%s: %w", a.Local, err)}
}

// rejected is for answers that are certain: nothing was changed.
func (r *Reconciler) rejected(ctx context.Context, a Action, err error) result {
	var limited *store.RateLimitedError
	switch {
	case errors.Is(err, store.ErrArchived):
		r.setArchived()
		return result{}
	case errors.Is(err, store.ErrFull), a.Op == replica.OpCreate && errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrUnfit) && r.atCap():
		r.setFull(a)
		return result{full: true, again: true}
	case a.Op == replica.OpCreate && errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrUnfit):
		if r.unfit(a, err) {
			r.tell.rejected(a, r.refusal(a.Local).Reason)
		}
		return result{full: true, again: true}
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge):
		r.refuse(a, err)
		return result{refused: true, again: a.Content && a.Rename}
	case errors.Is(err, store.ErrUnauthorized):
		return r.unauthorized(ctx, a, err)
	case errors.As(err, &limited):
		return result{stop: true, err: err}
	}
	return r.failed(ctx, a, err)
}

// unauthorized is for a write that our credential was refused for: the rest is
// left, unless that is known to be for this one alone. A delete has no content
// that could be changed, so it is tried again.
func (r *Reconciler) unauthorized(ctx context.Context, a Action, err error) result {
	switch {
	case !r.denied(a, err):
		return result{stop: true, err: err}
	case a.Op == replica.OpDelete:
		return r.failed(ctx, a, err)
	default:
		r.refuse(a, fmt.Errorf("%w for this one alone", err))
		return result{refused: true, again: a.Content && a.Rename}
	}
}

// succeeded moves base to what the store answered.
func (r *Reconciler) succeeded(seq uint64, a Action, m store.Memory) result {
	r.allowed(a)
	if a.Op == replica.OpDelete {
		r.view.Gone(a.ID)
		r.close(seq, &replica.Apply{ID: a.ID})
		r.tell.deleted(a)
		return result{sent: true}
	}
	placed := a.Op == replica.OpUpdate && !a.Rename || m.Path == a.Path
	if !placed || a.Content && m.SHA != a.SHA || a.Op == replica.OpUpdate && m.ID != a.ID {
		r.ended(seq)
		r.learner.distrust()
		return r.failed(context.Background(), a, store.ErrProtocol)
	}
	if newer, known := r.view.Get(m.ID); a.Op == replica.OpCreate && known && newer.VersionID != m.VersionID {
		// A pass has seen it changed before we heard that it was made.
		step := settlement(a, &m)
		r.close(seq, &step)
		r.forgive(a)
		return result{sent: true, again: true}
	}
	r.accept(seq, a, m)
	room := a.Op == replica.OpCreate && r.tookCreate(a.began)
	return result{sent: true, again: room || m.Path != a.Path} // renamed there: to be followed
}

// accept settles a send as done, with the memory as the store has it.
func (r *Reconciler) accept(seq uint64, a Action, m store.Memory) {
	// The view first: while the send is open, plans leave the memory alone.
	r.learner.own(m)
	r.learnt(m)
	step := settlement(a, &m)
	r.close(seq, &step)
	r.forgive(a)
}

// look asks for the memory that a request found other than expected.
func (r *Reconciler) look(ctx context.Context, seq uint64, a Action, id string) result {
	m, err := r.reads.Get(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound) && id == a.ID:
		return r.vanished(ctx, seq, a)
	case errors.Is(err, store.ErrNotFound):
		r.close(seq, nil) // what was in the way has gone
		return r.gone(ctx, id)
	case err != nil:
		r.close(seq, nil)
		return result{err: err}
	}
	asSent := (m.SHA == a.SHA || !a.Content) && (m.Path == a.Path || a.Op == replica.OpUpdate && !a.Rename)
	if a.Op != replica.OpDelete && asSent {
		r.accept(seq, a, m)
		return result{sent: true, again: m.Path != a.Path}
	}
	r.learnt(m)
	r.close(seq, nil)
	return result{again: true}
}

// vanished is for an update of a memory that is not there.
func (r *Reconciler) vanished(ctx context.Context, seq uint64, a Action) result {
	r.close(seq, nil)
	return r.gone(ctx, a.ID)
}

// gone notes that a memory is not there any more, unless it is the store that
// is not: that deletes nothing (R14).
func (r *Reconciler) gone(ctx context.Context, id string) result {
	if err := r.confirmGone(ctx, id); err != nil {
		return result{stop: true, err: err}
	}
	return result{again: true}
}

func (r *Reconciler) confirmGone(ctx context.Context, id string) error {
	if _, err := r.reads.Info(ctx); err != nil {
		return err
	}
	r.view.Gone(id)
	return nil
}

// taken is for a path that another memory occupies or overlaps.
func (r *Reconciler) taken(ctx context.Context, seq uint64, a Action, id string) result {
	switch id {
	case "":
		r.close(seq, nil)
		r.learner.distrust()
		return result{}
	case a.ID:
		r.close(seq, nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.state.split[id] = a.Path
		return result{again: true}
	}
	if a.Op == replica.OpCreate {
		return r.look(ctx, seq, a, id)
	}
	blocked := a
	blocked.Op = replica.OpDelete // whatever it is, it is not what was sent
	return r.look(ctx, seq, blocked, id)
}

// The state of sends.

func (r *Reconciler) began(seq uint64, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.sends[seq] = sending{id: id}
	if r.state.going++; r.state.going == 1 {
		r.state.idle = make(chan struct{})
	}
}

// ended leaves a send open: its outcome is not known.
func (r *Reconciler) ended(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.state.sends[seq]
	s.ended = r.state.epoch
	r.state.sends[seq] = s
}

// close settles a send in the journal; a nil step means that it was not
// applied. Where the journal cannot be written the send stays open.
func (r *Reconciler) close(seq uint64, step *replica.Apply) {
	if err := r.replica.Settle(seq, step); err != nil {
		r.tell.journalFailed(err)
		r.ended(seq)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.state.sends, seq)
}

// nextEpoch begins to learn: what ended before can be judged afterwards.
func (r *Reconciler) nextEpoch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.epoch++
}

// releaseSends lets plans judge the open sends that ended before the store was
// last looked at.
func (r *Reconciler) releaseSends() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for seq, s := range r.state.sends {
		if s.ended > 0 && s.ended < r.state.epoch {
			delete(r.state.sends, seq)
		}
	}
}

// finished notes that nothing of a send goes on any more.
func (r *Reconciler) finished() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.going--; r.state.going == 0 {
		close(r.state.idle)
	}
}

// awaitSends waits for requests of earlier passes.
func (r *Reconciler) awaitSends(ctx context.Context) {
	r.mu.Lock()
	idle := r.state.idle
	if r.state.going == 0 {
		idle = nil
	}
	r.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
