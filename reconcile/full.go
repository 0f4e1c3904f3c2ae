package reconcile

import (
	"maps"
	"time"
)

// maxTried is how many different files a store may refuse at one count before
// it is taken to be full without asking further.
const maxTried = 8

// fullness is what is known of a store that refused a create which keeps to all
// rules. It may be full, or it may refuse that one content: both are answered
// alike (400). So it is taken to be full at the count it had, and one other
// create at a time finds out: where that is taken, it was the content (R11).
// Where the count sinks there is room, for what was refused as well.
type fullness struct {
	// at is how many memories the store had; 0 while it takes more.
	at    int
	since time.Time
	// sure: it is known to be full, and nothing need be found out.
	sure bool
	// refused are the files that it did not take at this count, by path.
	refused map[string]Refusal
	// turn moves with every refusal.
	turn int
}

// attempt is what was known when a create began.
type attempt struct{ turn, count int }

// filled notes that a create was refused; sure says that it is for want of room.
func (f *fullness) filled(count int, now time.Time, sure bool) {
	f.at, f.since, f.sure = max(f.at, count, 1), now, sure
	f.turn++
}

// begins is for a create that begins at this count.
func (f *fullness) begins(count int) attempt { return attempt{f.turn, count} }

// took notes that the store took a create, after which it has count memories.
// It returns the files that it refused for what they are, as it turns out.
func (f *fullness) took(a attempt, count int) map[string]Refusal {
	if f.at == 0 {
		return nil
	}
	if a.turn != f.turn || a.count < f.at {
		f.at = max(f.at, count) // it had begun before, or there was room
		return nil
	}
	refused := f.refused
	*f = fullness{turn: f.turn}
	return refused
}

// limit applies what is known to a policy, at a count of memories.
func (f *fullness) limit(p *Policy, count int, now time.Time) {
	if f.at == 0 {
		return
	}
	f.at = max(f.at, count)
	if now.Sub(f.since) > listEvery { // perhaps its cap was raised
		f.since, f.sure, f.refused = now, false, nil
	}
	p.MaxMemories = min(p.MaxMemories, f.at)
	p.Probe = !f.sure && len(f.refused) < maxTried
	p.Full = maps.Clone(f.refused)
}

// unfit notes that the store did not take a create: for what it is or for want
// of room. It reports whether the file is the only one.
func (r *Reconciler) unfit(a Action, err error) (only bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &r.state.full
	f.filled(r.view.Len(), time.Now(), false)
	if f.refused == nil {
		f.refused = map[string]Refusal{}
	}
	f.refused[a.Local] = Refusal{SHA: a.SHA, Reason: err.Error() + "; or the store is full"}
	return len(f.refused) == 1
}

// setFull notes that the store takes no more memories than it has now.
func (r *Reconciler) setFull() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.full.filled(r.view.Len(), time.Now(), true)
}

// beginsCreate notes what is known when a create begins.
func (r *Reconciler) beginsCreate() attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.full.begins(r.view.Len())
}

// tookCreate notes that the store took a create. It reports whether it turned
// out to have room, so that others can go.
func (r *Reconciler) tookCreate(began attempt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.state.full.at > 0
	maps.Copy(r.state.refused, r.state.full.took(began, r.view.Len()))
	return full && r.state.full.at == 0
}

// holdFull holds a create that the store has no room for. What alone was not
// taken may be refused for what it is.
func (p *planner) holdFull(u *unit) {
	u.hold = Full
	if len(p.in.Policy.Full) == 1 && p.triedFull(u) {
		u.hold = Refused
	}
}

// triedFull reports whether the store has refused this very create at its
// present count.
func (p *planner) triedFull(u *unit) bool {
	refusal, tried := p.in.Policy.Full[u.local.Path]
	return tried && refusal.SHA == u.local.SHA
}

// atCap reports whether the store holds as many memories as it may.
func (r *Reconciler) atCap() bool { return r.view.Len() >= r.o.MaxMemories }

// setWaiting notes whether something is held until the store has room.
func (r *Reconciler) setWaiting(waiting bool) {
	r.mu.Lock()
	r.state.waiting = waiting
	r.mu.Unlock()
	if waiting {
		r.tell.full(r.view.Len())
	} else {
		r.tell.unsay("full")
	}
}

// refusal is why the store did not take what stands at a path.
func (r *Reconciler) refusal(path string) Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refusal, full := r.state.full.refused[path]; full {
		return refusal
	}
	return r.state.refused[path]
}
