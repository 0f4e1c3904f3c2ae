package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"memfs/store/replica"
)

// maxRounds bounds the plans of one pass: what is due after them is left to the
// next pass.
const maxRounds = 6

// PassOptions say how a pass goes.
type PassOptions struct {
	// Everything: nothing rests, and the pass waits for every request.
	Everything bool
	// AllowDeletes lets deletes through that the mass-delete guard holds.
	AllowDeletes bool
}

// Report is what a pass did.
type Report struct {
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Pushed counts creates and updates, Deleted deletes in the store, Pulled
	// changes of the tree that came from the store, Conflicts texts that lost.
	Pushed    int `json:"pushed"`
	Deleted   int `json:"deleted"`
	Pulled    int `json:"pulled"`
	Conflicts int `json:"conflicts"`
	// Refused and Held count what is not sent, after the pass.
	Refused int `json:"refused"`
	Held    int `json:"held"`
	// HeldDeletes counts the deletes that the guard holds, SuppressedDeletes
	// those that the mode does. Neither are unsent edits (R8).
	HeldDeletes       int `json:"held_deletes"`
	SuppressedDeletes int `json:"suppressed_deletes"`
	// Requests is how many requests the store was asked.
	Requests int `json:"requests"`
	// Unsent are the paths of local changes that did not go out, sorted.
	Unsent []string `json:"unsent,omitempty"`
	// MarkerBad: the marker is missing or altered, and nothing was done (R13).
	MarkerBad bool `json:"marker_bad,omitempty"`
	// Wake is when the first of what rests is due; zero if nothing rests.
	Wake time.Time `json:"wake,omitzero"`
}

// Pass learns what changed in the store, and brings both sides together. An
// error means that the store did not answer as it should; what could be done
// was done, and is in the report.
func (r *Reconciler) Pass(ctx context.Context, o PassOptions) (Report, error) {
	p, err := r.begin(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer p.end()
	before := r.count.Load()
	err = p.run(ctx)
	p.report.Requests = int(r.count.Load() - before)
	p.finish(ctx, err)
	p.report.Ended = time.Now()
	r.record(p.report, err)
	return p.report, err
}

// Attach fills the replica with what the store lists, before it is shown (R1).
// Nothing is sent.
func (r *Reconciler) Attach(ctx context.Context) error {
	p, err := r.begin(ctx, PassOptions{})
	if err != nil {
		return err
	}
	defer p.end()
	p.mute = true
	r.nextEpoch()
	if err := r.learner.list(ctx, nil, listParallel); err != nil {
		return err
	}
	r.releaseSends()
	return p.rounds(ctx)
}

// begin waits until no other pass goes on.
func (r *Reconciler) begin(ctx context.Context, o PassOptions) (*passing, error) {
	select {
	case r.pass <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := &passing{Reconciler: r, o: o, failed: map[string]bool{}}
	p.report.Began = time.Now()
	return p, nil
}

func (p *passing) end() {
	<-p.pass
	if p.report.Pulled > 0 {
		select {
		case p.line.pulled <- struct{}{}:
		default:
		}
	}
}

// passing is one pass going on.
type passing struct {
	*Reconciler
	o PassOptions
	// mute: nothing is sent.
	mute   bool
	report Report
	// plan is the last one; failed are the paths of sends that did not succeed.
	plan   Result
	failed map[string]bool
	// refusals counts the creates that the store refused, be it for want of room.
	refusals int
	// again asks for another round: the store turned out to be other than the
	// view said.
	again bool
}

func (p *passing) run(ctx context.Context) error {
	if p.o.Everything {
		p.awaitSends(ctx)
	}
	err := p.learnAndAct(ctx)
	if err == nil && p.o.Everything && p.plan.Doubt {
		// This may be the last pass: what was lost on the way is looked for now.
		err = p.learnAndAct(ctx)
	}
	return err
}

// learnAndAct looks at the store, and does what follows.
func (p *passing) learnAndAct(ctx context.Context) error {
	p.nextEpoch()
	if err := p.learner.learn(ctx, p.inFlight()); err != nil {
		p.snapshotUnsent()
		return errors.Join(err, p.replica.MeantEmpty(Plan(p.input()).Emptied))
	}
	p.releaseSends()
	p.lookForRedactions(ctx)
	return p.rounds(ctx)
}

// rounds plans and carries out until nothing more is due at once.
func (p *passing) rounds(ctx context.Context) error {
	for range maxRounds {
		p.again, p.report.Refused = false, 0
		clear(p.failed)
		p.plan = Plan(p.input())
		if p.plan.MarkerBad {
			p.tell.markerBad(p.replica.MountPath())
			return nil
		}
		p.tell.markerGood()
		if err := p.carryOut(ctx); err != nil {
			return err
		}
		if !p.again && !p.plan.Again {
			return nil
		}
	}
	return nil
}

// carryOut does what the plan says.
func (p *passing) carryOut(ctx context.Context) error {
	if p.plan.Doubt {
		p.learner.distrust()
	}
	for _, s := range p.plan.Settle {
		settle := func() error { return p.replica.Settle(s.Seq, s.Apply) }
		if s.Apply == nil {
			settle = func() error { return p.replica.Missing(s.Seq) }
		}
		if err := settle(); err != nil {
			return err
		}
	}
	if err := errors.Join(p.replica.Judge(p.plan.Verdicts), p.replica.MeantEmpty(p.plan.Emptied)); err != nil {
		return err
	}
	// What cannot be pulled now does not keep the rest from being sent.
	fault := p.applyChanges(ctx, p.plan.Changes)
	for _, n := range p.plan.Notes {
		p.tell.note(n, "")
	}
	p.showHeld()
	if len(p.plan.Deletes.Guarded) == 0 {
		p.tell.unsay(massDelete)
	}
	p.tell.hidden(p.view.Hidden())
	if p.mute || p.writes == nil {
		return fault
	}
	if err := p.sendAll(ctx, p.plan.Sends); fault == nil {
		fault = err
	}
	return fault
}

// input gathers what a plan is made from. The requests in flight are looked up
// first: what they change meanwhile is left alone by the plan.
func (p *passing) input() Input {
	in := Input{Policy: p.policy(p.o, p.refusals), View: p.view, Listed: p.learner.lastListed()}
	in.Remote = p.view.Pending(p.replica.Base)
	ids := make([]string, 0, len(in.Remote))
	var paths []string
	for id, m := range in.Remote {
		ids = append(ids, id)
		if m != nil && Mappable(m.Path) {
			paths = append(paths, m.Path)
		}
	}
	in.Local = p.replica.Snapshot(ids, paths)
	return in
}

// finish sums up.
func (p *passing) finish(ctx context.Context, err error) {
	p.report.MarkerBad = p.plan.MarkerBad
	p.report.Wake = p.plan.Wake
	p.report.HeldDeletes = len(p.plan.Deletes.Guarded)
	p.report.SuppressedDeletes = len(p.plan.Deletes.Suppressed)
	full := false
	for _, h := range p.plan.Held {
		switch h.Hold {
		case Refused:
			p.report.Refused++
		default:
			p.report.Held++
		}
		full = full || h.Hold == Full
		if h.Hold != ReadOnly {
			p.failed[h.Path] = true
		}
	}
	for path := range p.failed {
		p.report.Unsent = append(p.report.Unsent, path)
	}
	slices.Sort(p.report.Unsent)
	p.setWaiting(full)
	if !p.report.MarkerBad && ctx.Err() == nil {
		p.tell.outcome(err, p.report)
	}
}

// snapshotUnsent names what waits while the store cannot be asked.
func (p *passing) snapshotUnsent() {
	if p.writes == nil {
		return
	}
	snap := p.replica.Snapshot(nil, nil)
	for _, f := range snap.Files {
		p.failed[f.Path] = true
	}
	for _, m := range snap.Memories {
		switch {
		case m.At != nil:
			p.failed[m.At.Path] = true
		case m.Carrier != nil:
			p.failed[m.Carrier.Path] = true
		case p.Reconciler.o.Deletions == DeletionsEnabled:
			p.failed[m.Base.Path] = true
		}
	}
}

// showHeld lets inspection see why a file is not sent.
func (p *passing) showHeld() {
	for _, h := range p.plan.Held {
		state := replica.Held
		switch h.Hold {
		case ReadOnly:
			continue
		case Resting, InFlight:
			state = replica.Dirty
		case Refused:
			state, h.Reason = replica.Refused, p.refusal(h.Path).Reason
		case Failed:
			p.tell.failedSave(h)
		case Taken:
			p.tell.taken(h)
		}
		p.replica.SetState(h.Ino, h.Gen, state, h.Reason)
	}
}
