package reconcile

import (
	"cmp"
	"slices"
	"strings"

	"memfs/store"
	"memfs/store/replica"
)

// inOrder are the units in the order of their last local change.
func (p *planner) inOrder() []*unit {
	units := slices.Clone(p.units)
	slices.SortStableFunc(units, func(a, b *unit) int {
		return cmp.Or(a.at().Compare(b.at()), strings.Compare(a.name(), b.name()), strings.Compare(a.id, b.id))
	})
	return units
}

// sender lists the sends so that each stands after those that it depends on,
// and otherwise in the order of the last writes.
type sender struct {
	p       *planner
	actions []Action
	// freed is the index of the send that makes a unit leave its old path, done
	// of the one that completes the unit.
	freed, done map[*unit]int
}

func (p *planner) sends() []Action {
	s := &sender{p: p, freed: map[*unit]int{}, done: map[*unit]int{}}
	for _, u := range p.inOrder() {
		s.add(u)
	}
	return s.actions
}

// sent reports whether the unit is sent by this plan.
func (u *unit) sent() bool { return u.hold == free && u.step >= create }

// add lists the unit's sends, after those that they need.
func (s *sender) add(u *unit) {
	if _, added := s.done[u]; added || !u.sent() {
		return
	}
	s.done[u] = -1 // being added; cycles were taken apart by breakCycle
	step, after := u.step, []int(nil)
	if u.split {
		step, after = create, []int{s.free(u)}
	}
	after = append(after, s.needs(u)...)
	a := s.p.action(u, step)
	a.After = after
	s.done[u] = s.append(a)
	if !u.split {
		s.freed[u] = s.done[u]
	}
}

// free lists the send that makes the unit leave its path, and returns its index.
func (s *sender) free(u *unit) int {
	if at, added := s.freed[u]; added {
		return at
	}
	if u.split {
		s.freed[u] = s.append(s.p.action(u, remove))
	} else {
		s.add(u)
	}
	return s.freed[u]
}

func (s *sender) append(a Action) int {
	s.actions = append(s.actions, a)
	return len(s.actions) - 1
}

// needs adds what the unit waits for, and returns the indices.
func (s *sender) needs(u *unit) []int {
	var after []int
	if u.step == remove && u.heir != nil && u.heir.sent() {
		s.add(u.heir)
		after = append(after, s.done[u.heir])
	}
	for _, id := range s.p.blockers(u) {
		after = append(after, s.free(s.p.byID[id]))
	}
	return after
}

// action is the request for one step of the unit.
func (p *planner) action(u *unit, step step) Action {
	a := Action{Local: u.name()}
	if u.base != nil {
		a.Base = *u.base
	}
	if step != create {
		a.ID, a.Expect = u.id, u.remote.SHA
	}
	switch step {
	case remove:
		a.Op, a.Counted = replica.OpDelete, u.counted
		return a
	case create:
		a.Op, a.Content, a.Path = replica.OpCreate, true, u.local.Path
	default:
		a.Op, a.Content, a.Rename, a.Path = replica.OpUpdate, u.sendContent, u.sendPath, u.remote.Path
		if u.sendPath {
			a.Path = u.local.Path
		}
	}
	a.Ino, a.Gen, a.SHA = u.local.Ino, u.local.Gen, u.local.SHA
	return a
}

// send is the journal's note of the action. What an update does not send,
// content or path, it says nothing about.
func (a Action) send() replica.Send {
	s := replica.Send{Op: a.Op, ID: a.ID, Ino: a.Ino, Counted: a.Counted}
	if a.Content {
		s.SHA = a.SHA
	}
	if a.Op == replica.OpCreate || a.Rename {
		s.Path = a.Path
	}
	return s
}

// settlement is the step that moves base once the action is known to have left
// the memory as remote; nil means that it is gone.
func settlement(a Action, remote *store.Memory) replica.Apply {
	if remote == nil {
		return replica.Apply{ID: a.ID}
	}
	base := agreed(a.Base, *remote, a.Content, a.Op == replica.OpCreate || a.Rename || remote.Path == a.Path)
	return replica.Apply{ID: remote.ID, Base: &base, Ino: a.Ino}
}
