package reconcile

import (
	"cmp"
	"slices"
	"time"

	"memfs/store"
)

// scant is the part of its known cap below which no store is taken to be full:
// the cap has been other than it is now, but never by so much.
const scant = 10

// Room is what is known of a store that refused a create which keeps to all
// rules, be it for what it is or for want of room.
type Room struct {
	// At is how many memories the store had.
	At int
	// Sure: the store said that it is full.
	Sure bool
	// Since is the time of the last refusal.
	Since time.Time
	// Probes is how many creates go although there may be no room, to find out.
	Probes int
	// Again: what was refused is probed once more.
	Again bool
	// Tried are the creates that went since and were not taken, by local path.
	Tried map[string]Try
}

// Try is a create that the store did not take.
type Try struct {
	SHA store.SHA
	At  time.Time
	// Refused: the answer was for certain that it is not taken, with a reason.
	Refused bool
	Reason  string
}

// limitCreates holds the creates that the store has no room for (R11). They are
// taken in the order of the last writes.
func (p *planner) limitCreates() {
	room, limited := p.room()
	if !limited {
		return
	}
	leaving := false
	var waiting []*unit
	for _, u := range p.inOrder() {
		switch {
		case u.hold != free:
		case u.step == remove:
			leaving = true
		case u.step == create && room > 0:
			room--
		case u.step == create:
			waiting = append(waiting, u)
			p.res.Again = p.res.Again || leaving
		}
	}
	probes := p.probes(waiting)
	refused := 0
	for _, u := range waiting {
		if p.try(u).Refused {
			refused++
		}
	}
	guarded := slices.ContainsFunc(p.units, func(u *unit) bool { return u.hold == Guarded })
	for _, u := range waiting {
		if slices.Contains(probes, u) {
			continue
		}
		p.holdFull(u, refused == 1)
		if u.hold == Full && guarded {
			u.blocker = "deletes that would make room are " + Guarded.String()
		}
	}
}

// room is how many creates the store has room for; limited is false where no
// limit is known.
func (p *planner) room() (room int, limited bool) {
	limit, count := p.in.Policy.MaxMemories, p.in.View.Len()
	if known := p.in.Policy.Room; known != nil && (limit <= 0 || known.At < limit) {
		return known.At - count, true
	}
	return limit - count, limit > 0
}

// probes are the creates that find out whether there is room. Those that have
// not been tried go first, of them those that changed since the last refusal;
// then the others take turns, so that one that always fails is in nobody's way.
func (p *planner) probes(waiting []*unit) []*unit {
	known := p.in.Policy.Room
	if known == nil {
		return nil
	}
	units := slices.DeleteFunc(slices.Clone(waiting), func(u *unit) bool { return p.try(u).Refused && !known.Again })
	slices.SortStableFunc(units, func(a, b *unit) int {
		return cmp.Or(p.try(a).At.Compare(p.try(b).At), before(a.at().After(known.Since), b.at().After(known.Since)))
	})
	return units[:min(len(units), known.Probes)]
}

// before sorts what is a before what is not.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// try is how the store last did not take this very create; zero if it was not
// tried.
func (p *planner) try(u *unit) Try {
	if known := p.in.Policy.Room; known != nil {
		if t := known.Tried[u.local.Path]; t.SHA == u.local.SHA {
			return t
		}
	}
	return Try{}
}

// holdFull holds a create that the store has no room for, as it seems. What
// alone was refused may be refused for what it is; and so it is with all where
// the store can hardly be full.
func (p *planner) holdFull(u *unit, alone bool) {
	known := p.in.Policy.Room
	empty := known != nil && !known.Sure && sparse(p.in.View.Len(), p.in.Policy.MaxMemories)
	switch {
	case p.try(u).Refused && (alone || empty):
		u.hold = Refused
	case empty:
		u.hold = Queued
	default:
		u.hold = Full
	}
}

// sparse reports whether a store has far fewer memories than its cap.
func sparse(count, limit int) bool { return count < limit/scant }
