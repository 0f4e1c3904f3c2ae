package reconcile

import (
	"cmp"
	"slices"

	"memfs/store/replica"
)

// markInFlight leaves alone what a request that has not been answered yet
// concerns: at most one request is in flight for a memory (R4).
func (p *planner) markInFlight() {
	if len(p.in.Policy.InFlight) == 0 {
		return
	}
	ids, inos, creates := map[string]bool{}, map[replica.Ino]bool{}, map[string]bool{}
	for _, s := range p.in.Local.Sends {
		if p.in.Policy.InFlight[s.Seq] {
			ids[s.ID], inos[s.Ino] = s.ID != "", s.Ino != 0
			creates[s.Path] = creates[s.Path] || s.Op == replica.OpCreate
		}
	}
	for _, u := range p.units {
		ours := u.base == nil && u.remote != nil && creates[u.remote.Path]
		if ours || ids[u.id] || u.local != nil && inos[u.local.Ino] {
			u.hold = InFlight
		}
	}
}

// splitRefused marks the renames that the store does not do in one request.
func (p *planner) splitRefused() {
	for _, u := range p.units {
		if u.hold != free || u.step != update || !u.sendPath || p.in.Policy.Split[u.id] != u.local.Path {
			continue
		}
		if p.in.Policy.Deletions == DeletionsEnabled && p.splittable(u) {
			u.split = true
		} else {
			u.hold = Taken
		}
	}
}

// resolveOverlaps settles who has a path that the mount wants in the store and
// that another memory occupies or overlaps there. Where that memory leaves by
// this plan, the send waits its turn; where its leaving is held, so is the
// send; where it stays, the store wins and the local side yields. Each round
// changes at least one unit for good, so it ends.
func (p *planner) resolveOverlaps() {
	for changed := true; changed; {
		changed = false
		stays := p.stayingBases()
		for _, u := range p.units {
			if p.resolve(u, stays) {
				changed = true
			}
		}
		if !changed {
			changed = p.breakCycle() || p.deferObstructed()
		}
	}
}

// resolve looks once at what is in the way of one unit, and reports whether it
// changed the unit.
func (p *planner) resolve(u *unit, stays places) bool {
	if u.hold == Resting || u.hold == InFlight {
		return false
	}
	if u.step == remove {
		return p.followHeir(u)
	}
	for _, id := range p.blockers(u) {
		other := p.byID[id]
		switch {
		case other == nil || other.remote == nil:
			return p.await(u, Taken, nil)
		case other.freesPath():
			if other.hold != free && other.hold != ReadOnly && p.await(u, Waiting, other) {
				return true
			}
		case other.hold == Resting || other.hold == InFlight || other.hold == Obstructed:
			return p.await(u, Waiting, other)
		default:
			p.yield(u, other)
			return true
		}
	}
	if want := u.claims(); want != "" {
		if other := stays.inTheWay(want, u); other != nil {
			return p.await(u, Waiting, other)
		}
	}
	return false
}

// stayingBases are the memories that have left their base path in the store
// while the tree cannot follow yet: base has their path until it can, and no
// other memory may take it.
func (p *planner) stayingBases() places {
	stays := places{}
	for _, u := range p.units {
		if u.base != nil && u.hold != free && u.step.local() {
			stays.add(u.base.Path, u)
		}
	}
	return stays
}

// followHeir keeps a memory in the store until the one that it was renamed over
// has its text there.
func (p *planner) followHeir(u *unit) bool {
	if u.heir == nil || u.heir.step != update || u.heir.hold == free {
		return false
	}
	return p.await(u, Waiting, u.heir)
}

// await holds the unit, unless something holds it already, and reports whether
// that is new.
func (p *planner) await(u *unit, hold Hold, other *unit) bool {
	if u.hold != free {
		return false
	}
	u.hold = hold
	if other != nil {
		u.blocker = other.name() + " " + other.hold.String()
		if other.hold == Resting || other.hold == Waiting {
			p.wake(other.due)
			u.due = other.due
		}
	}
	return true
}

// yield gives the path to the memory that has it in the store.
func (p *planner) yield(u, other *unit) {
	if u.step == update {
		p.undo(u)
		return
	}
	u.step, u.hold = drop, free
	switch {
	case other.remote.Path != u.local.Path:
		u.loser, u.note = "path", u.newNote(PathLost)
	case other.remote.SHA != u.local.SHA:
		u.loser, u.note = "create", u.newNote(Conflict)
		u.note.Remote = other.remote.SHA
	}
	u.winner = other
}

// blockers are the memories that occupy or overlap, in the store, the path that
// the unit wants there.
func (p *planner) blockers(u *unit) []string {
	want := u.claims()
	if want == "" {
		return nil
	}
	var ids []string
	add := func(id string) {
		if id != u.id {
			ids = append(ids, id)
		}
	}
	for _, at := range append(above(want), want) {
		if id, found := p.in.View.At(at); found {
			add(id)
		}
	}
	for _, id := range p.in.View.Below(want) {
		add(id)
	}
	slices.Sort(ids)
	return ids
}

// breakCycle finds renames that wait for each other's old path. Such a cycle
// exists only through overlaps (/x to /y/1 while /y goes to /x/1): a plain swap
// is two content updates (R6). One of the memories is deleted and made anew,
// its text being in the journal; where each has another text in the store, one
// of the renames is undone (R7). Where deletes are not sent, all wait.
func (p *planner) breakCycle() bool {
	cycle := p.cycle()
	if len(cycle) == 0 {
		return false
	}
	slices.SortFunc(cycle, func(a, b *unit) int { return cmp.Compare(a.id, b.id) })
	if p.in.Policy.Deletions == DeletionsEnabled {
		if at := slices.IndexFunc(cycle, p.splittable); at >= 0 {
			cycle[at].split = true
			return true
		}
		if at := slices.IndexFunc(cycle, (*unit).pulls); at >= 0 {
			p.undo(cycle[at])
			return true
		}
	}
	cycle[0].hold, cycle[0].blocker = Waiting, "renames that wait for each other"
	return true
}

// splittable reports whether the memory's text is all here and can be sent.
func (p *planner) splittable(u *unit) bool {
	refusal, refused := p.in.Policy.Refused[u.local.Path]
	return !u.pulls() && !u.local.Failed && !u.local.SHA.IsZero() && !(refused && refusal.SHA == u.local.SHA)
}

// pulls reports whether the text of a memory that stands on both sides is to
// come from the store.
func (u *unit) pulls() bool {
	content := compare(u.base.SHA, u.local.SHA, u.remote.SHA)
	return content == theirs || content == clash
}

// cycle returns units whose renames wait for each other; none if there are none.
func (p *planner) cycle() []*unit {
	const walking, done = 1, 2
	state := map[*unit]int{}
	var stack, found []*unit
	var walk func(u *unit) bool
	walk = func(u *unit) bool {
		state[u] = walking
		stack = append(stack, u)
		for _, id := range p.blockers(u) {
			other := p.byID[id]
			if other == nil || other.split || other.step != update || !other.sendPath {
				continue
			}
			if state[other] == walking {
				found = slices.Clone(stack[slices.Index(stack, other):])
				return true
			}
			if state[other] == 0 && walk(other) {
				return true
			}
		}
		stack = stack[:len(stack)-1]
		state[u] = done
		return false
	}
	for _, u := range p.units {
		if u.hold == free && !u.split && u.step == update && u.sendPath && state[u] == 0 && walk(u) {
			return found
		}
	}
	return nil
}
