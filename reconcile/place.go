package reconcile

import "memfs/store/replica"

// limitCreates holds the creates that the store has no room for (R11). They are
// taken in the order of the last writes.
func (p *planner) limitCreates() {
	limit := p.in.Policy.MaxMemories
	if limit <= 0 {
		return
	}
	room, leaving := limit-p.in.View.Len(), false
	for _, u := range p.inOrder() {
		switch {
		case u.hold != free:
		case u.step == remove:
			leaving = true
		case u.step == create && room > 0:
			room--
		case u.step == create:
			u.hold = Full
			p.res.Again = p.res.Again || leaving
		}
	}
}

// deferObstructed holds what the store wants placed where a file stays that
// this plan does not move. Holding one may obstruct another.
func (p *planner) deferObstructed() {
	for changed := true; changed; {
		changed = false
		staying, dirs := map[string]*unit{}, map[string]*unit{}
		for _, u := range p.units {
			if u.local == nil || u.hold == free && (u.step == drop || u.step == pull || u.step == move) {
				continue
			}
			staying[u.local.Path] = u
			for _, dir := range above(u.local.Path) {
				dirs[dir] = u
			}
		}
		for _, u := range p.units {
			if u.hold != free || u.step != pull && u.step != move {
				continue
			}
			if other := obstacle(u.remote.Path, staying, dirs); other != nil {
				u.hold, u.due, u.blocker = Obstructed, other.due, other.name()
				p.wake(other.due)
				p.res.Again = p.res.Again || other.hold == free
				changed = true
			}
		}
	}
}

func obstacle(at string, files, dirs map[string]*unit) *unit {
	if u := files[at]; u != nil {
		return u
	}
	if u := dirs[at]; u != nil {
		return u
	}
	for _, dir := range above(at) {
		if u := files[dir]; u != nil {
			return u
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
