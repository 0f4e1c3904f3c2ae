package disktest

import (
	"errors"
	"slices"
	"sync"

	"memfs/store/replica/disk"
)

// ErrKilled is what every operation returns after a kill.
var ErrKilled = errors.New("the process was killed here")

// Rule says which operations to meddle with, and how.
type Rule struct {
	// Label and Kind select operations; empty ones match all.
	Label string
	Kind  disk.Kind
	// Skip lets so many matching operations pass first, whatever other rules
	// do with them; Times is for how many the rule decides after that, 0 being
	// for ever.
	Skip, Times int
	Fault       disk.Fault
	// Call runs before the operation; nil is nothing.
	Call func(disk.Op)
}

// Faults is a hook that follows rules. The zero value lets everything pass.
type Faults struct {
	mu     sync.Mutex
	rules  []*Rule
	seen   []disk.Op
	killAt int // counts down; see Kill
	after  bool
	killed bool
}

// Add adds a rule; the first that matches decides.
func (f *Faults) Add(r Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &r)
}

// Reset removes the rules and forgets what was seen.
func (f *Faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.seen, f.killAt, f.killed = nil, nil, 0, false
}

// Kill lets n-1 operations pass and then ends the process as the disk sees it:
// nothing that follows happens any more. With after, the nth still happens.
func (f *Faults) Kill(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killAt, f.after = n, after
}

// Seen returns the operations of a label and kind, of all where they are
// empty, without their data.
func (f *Faults) Seen(label string, kind disk.Kind) []disk.Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ops []disk.Op
	for _, op := range f.seen {
		if matches(op, label, kind) {
			ops = append(ops, op)
		}
	}
	return ops
}

// Hook is the disk.Hook.
func (f *Faults) Hook(op disk.Op) disk.Fault {
	f.mu.Lock()
	killed := f.countdown()
	rule := f.match(op)
	op.Data = nil
	f.seen = append(f.seen, op)
	f.mu.Unlock()
	if killed {
		return disk.Fault{Err: ErrKilled}
	}
	if rule == nil {
		return disk.Fault{}
	}
	if rule.Call != nil {
		rule.Call(op)
	}
	return rule.Fault
}

// countdown reports whether the operation comes too late. It needs mu.
func (f *Faults) countdown() bool {
	if f.killAt == 0 {
		return f.killed
	}
	if f.killAt--; f.killAt > 0 {
		return false
	}
	f.killed = true
	return !f.after
}

// match needs mu.
func (f *Faults) match(op disk.Op) *Rule {
	var found *Rule
	for _, r := range f.rules {
		switch {
		case !matches(op, r.Label, r.Kind):
		case r.Skip > 0:
			r.Skip--
		case found == nil:
			found = r
		}
	}
	if found != nil && found.Times > 0 {
		if found.Times--; found.Times == 0 {
			f.rules = slices.DeleteFunc(f.rules, func(r *Rule) bool { return r == found })
		}
	}
	return found
}

func matches(op disk.Op, label string, kind disk.Kind) bool {
	return (label == "" || op.Label == label) && (kind == "" || op.Kind == kind)
}
