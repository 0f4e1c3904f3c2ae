package reconcile

import (
	"slices"

	"memfs/store/replica"
)

// keepScratch leaves what is local only where it stands, unless this plan puts
// something of the store in its place (R17).
func (p *planner) keepScratch() {
	if !slices.ContainsFunc(p.units, (*unit).scratch) {
		return
	}
	taken := places{}
	for _, u := range p.units {
		if u.hold == free && (u.step == pull || u.step == move) {
			taken.add(u.remote.Path, u)
		}
	}
	for _, u := range p.units {
		if u.scratch() && (u.step == create || u.step == drop && taken.inTheWay(u.local.Path, u) == nil) {
			u.step, u.hold = settled, free
		}
	}
}

// deferObstructed holds what the store wants placed where, in the tree or in
// base, something stays that this plan does not move, and reports whether it
// held anything. Holding one may obstruct another.
func (p *planner) deferObstructed() bool {
	files, bases := places{}, places{}
	for _, u := range p.units {
		moves := u.hold == free && u.step.local()
		if u.local != nil && !(moves && u.leavesTree()) {
			files.add(u.local.Path, u)
		}
		if u.base != nil && !moves {
			bases.add(u.base.Path, u)
		}
	}
	changed := false
	for _, u := range p.units {
		if u.hold != free || u.step != pull && u.step != move && u.step != adopt {
			continue
		}
		other := bases.inTheWay(u.remote.Path, u)
		if other == nil && u.step != adopt {
			other = files.inTheWay(u.remote.Path, u)
		}
		if other != nil {
			u.hold, u.due, u.blocker = Obstructed, other.due, other.name()
			p.wake(other.due)
			p.res.Again = p.res.Again || other.hold == free
			changed = true
		}
	}
	return changed
}

// leavesTree reports whether the unit's step takes its file from its place.
func (u *unit) leavesTree() bool {
	return u.step == drop || u.step == pull || u.step == move
}

// places finds units by path.
type places map[string][]*unit

func (x places) add(at string, u *unit) {
	x[at] = append(x[at], u)
	for _, dir := range above(at) {
		x[dir+"/"] = append(x[dir+"/"], u)
	}
}

// inTheWay returns a unit other than u at, above or below a path.
func (x places) inTheWay(at string, u *unit) *unit {
	for _, key := range append(above(at), at, at+"/") {
		for _, other := range x[key] {
			if other != u {
				return other
			}
		}
	}
	return nil
}

// change is the unit's step as the replica takes it.
func (u *unit) change() Change {
	c := Change{Apply: replica.Apply{ID: u.id}, Note: u.note}
	if u.local != nil && u.step != forget {
		c.Ino, c.Gen = u.local.Ino, u.local.Gen
	}
	if u.remote != nil && u.step != forget && u.step != drop {
		base := replica.BaseOf(*u.remote)
		c.Base = &base
	}
	switch u.step {
	case pull:
		c.Place = replica.PutFile
		c.Fetch = u.local != nil && u.local.Fetched
	case move:
		c.Place = replica.MoveFile
	case drop:
		c.Place = replica.DropFile
	default:
		c.Place = replica.KeepTree
	}
	if u.loser != "" {
		c.Loser = u.losing()
	}
	return c
}

func (u *unit) losing() *replica.Loser {
	l := &replica.Loser{Reason: u.loser}
	if u.base != nil {
		l.BaseSHA = u.base.SHA
	}
	switch {
	case u.winner != nil:
		l.Remote = u.winner.remote.SHA
	case u.remote != nil:
		l.Remote = u.remote.SHA
	}
	return l
}

// more reports whether the unit has another step due once this one is done.
func (u *unit) more() bool {
	if u.hold != free || u.local == nil {
		return false
	}
	switch u.step {
	case move:
		return u.local.SHA != u.remote.SHA
	case forget:
		return true
	case drop:
		return u.winner != nil
	case update:
		return u.sendPath && !u.sendContent && u.base.SHA != u.remote.SHA
	default:
		return false
	}
}
