package reconcile

import (
	"maps"
	"time"
)

const (
	// maxTried is how many different files a store may refuse before the next
	// has to wait for another pass.
	maxTried = 8
	// maxProbes is how many creates of a pass that sends everything may be
	// refused before the others wait.
	maxProbes = 32
)

// fullness is what is known of a store that refused a create which keeps to all
// rules. It may be full, or it may refuse that one content: both are answered
// alike (400). So it is taken to be full at the count it had, and few other
// creates at a time find out: where one is taken, it was the content (R11).
// Where the count sinks there is room, for what was refused as well.
type fullness struct {
	// since is the time of the last refusal; zero while the store takes more.
	since time.Time
	// at is how many memories it had.
	at int
	// sure: it is known to be full, and nothing need be found out.
	sure bool
	// tried are the creates that it did not take since, by path.
	tried map[string]Try
	// turn moves with every refusal.
	turn int
}

// attempt is what was known when a request began: the refusals of creates, how
// many memories there were, and how many writes had been taken.
type attempt struct{ turn, count, taken int }

// filled notes that a create was refused; sure says that it is for want of room.
// Memories that left while it went on may have made room.
func (f *fullness) filled(a attempt, count int, now time.Time, sure bool) {
	f.at, f.since, f.sure = max(a.count, count), now, sure
	f.turn++
}

// missed notes that a create was not taken, whatever the reason.
func (f *fullness) missed(path string, t Try) {
	if f.since.IsZero() {
		return
	}
	if was := f.tried[path]; was.SHA == t.SHA && was.Refused && !t.Refused {
		t.Refused, t.Reason = true, was.Reason
	}
	if f.tried == nil {
		f.tried = map[string]Try{}
	}
	f.tried[path] = t
}

// refused counts the files that were refused.
func (f *fullness) refused() int {
	n := 0
	for _, t := range f.tried {
		if t.Refused {
			n++
		}
	}
	return n
}

// took notes that the store took a create, after which it has count memories.
// It returns the files that it refused for what they are, as it turns out; what
// it refused long ago may have been for a cap that was raised since.
func (f *fullness) took(a attempt, count int, now time.Time) map[string]Refusal {
	if f.since.IsZero() {
		return nil
	}
	if a.turn != f.turn || a.count < f.at {
		f.at = max(f.at, count) // it had begun before, or there was room
		return nil
	}
	refused := map[string]Refusal{}
	for path, t := range f.tried {
		if t.Refused && now.Sub(t.At) <= listEvery {
			refused[path] = Refusal{SHA: t.SHA, Reason: t.Reason}
		}
	}
	*f = fullness{turn: f.turn}
	return refused
}

// room is what a plan may know, at a count of memories. most is how many
// creates may yet be refused in this pass.
func (f *fullness) room(count, most int, now time.Time) *Room {
	if f.since.IsZero() {
		return nil
	}
	f.at = max(f.at, count)
	r := &Room{At: f.at, Since: f.since, Probes: max(most, 0), Tried: maps.Clone(f.tried)}
	r.Again = now.Sub(f.since) > listEvery // perhaps its cap was raised
	r.Sure = f.sure && !r.Again
	switch {
	case r.Sure:
		r.Probes = 0
	case f.refused() < maxTried:
		r.Probes = max(r.Probes, 1) // one after the other, so that the first few are told soon
	}
	return r
}

// unfit notes that the store did not take a create: for what it is or for want
// of room. It reports whether it seems to be for what it is.
func (r *Reconciler) unfit(a Action, err error) (itself bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, count, now := &r.state.full, r.view.Len(), time.Now()
	f.filled(a.began, count, now, false)
	f.missed(a.Local, Try{SHA: a.SHA, At: now, Refused: true, Reason: err.Error() + "; or the store is full"})
	return f.refused() == 1 || sparse(count, r.o.MaxMemories)
}

// missed notes that a create was not taken, so that others are tried before it.
func (r *Reconciler) missed(a Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.full.missed(a.Local, Try{SHA: a.SHA, At: time.Now()})
}

// setFull notes that the store takes no more memories than it has now.
func (r *Reconciler) setFull(a Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.full.filled(a.began, r.view.Len(), time.Now(), true)
}

// begins notes what is known when a request begins.
func (r *Reconciler) begins() attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return attempt{turn: r.state.full.turn, count: r.view.Len(), taken: r.state.denials.taken}
}

// tookCreate notes that the store took a create. It reports whether it turned
// out to have room, so that others can go.
func (r *Reconciler) tookCreate(began attempt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := !r.state.full.since.IsZero()
	maps.Copy(r.state.refused, r.state.full.took(began, r.view.Len(), time.Now()))
	return full && r.state.full.since.IsZero()
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
	if t := r.state.full.tried[path]; t.Refused {
		return Refusal{SHA: t.SHA, Reason: t.Reason}
	}
	return r.state.refused[path]
}
