package reconcile

import (
	"path"
	"slices"
	"time"

	"memfs/store"
)

// Deletions says what becomes of local deletes.
type Deletions uint8

// The deletion modes (R8).
const (
	// DeletionsEnabled: deletes are sent.
	DeletionsEnabled Deletions = iota
	// DeletionsLogOnly: what would be deleted is logged.
	DeletionsLogOnly
	// DeletionsDisabled: deletes stay local.
	DeletionsDisabled
)

// The mass-delete guard's figures (R8).
const (
	guardWindow = 10 * time.Minute
	guardLeast  = 8
)

// Guard is what the mass-delete guard remembers between plans: the deletes that
// were sent within its window, how many memories the store had at the first of
// them, and which deletes it holds.
type Guard struct {
	Had  int
	Sent []time.Time
	Held map[string]bool
}

// Record notes a counted delete that was sent.
func (g *Guard) Record(at time.Time) { g.Sent = append(g.Sent, at) }

// HeldDeletes are the local deletes that are not sent, by why.
type HeldDeletes struct {
	Guarded    []string
	Suppressed []string
}

func (h *HeldDeletes) add(u *unit) {
	if u.hold == Guarded {
		h.Guarded = append(h.Guarded, u.base.Path)
	} else {
		h.Suppressed = append(h.Suppressed, u.base.Path)
	}
}

// judgeDeletes applies the deletion mode and the mass-delete guard.
func (p *planner) judgeDeletes() {
	local := p.localPaths()
	var counted []*unit
	for _, u := range p.units {
		if u.step != remove || u.hold == ReadOnly || u.hold == InFlight {
			continue
		}
		if p.in.Policy.Deletions != DeletionsEnabled {
			p.suppress(u)
			continue
		}
		if u.heir == nil && !local.overlaps(u.base.Path) {
			u.counted = true
			counted = append(counted, u)
		}
	}
	p.guard(counted)
}

func (p *planner) suppress(u *unit) {
	if u.hold == Resting {
		return
	}
	u.hold = Suppressed
	if p.in.Policy.Deletions == DeletionsLogOnly {
		p.res.Notes = append(p.res.Notes, *u.newNote(WouldDelete))
	}
}

// guard holds the counted deletes when, with those sent within the window, they
// are more than guardLeast and more than half of what the store had. What it
// holds stays held until it is allowed or put back.
func (p *planner) guard(counted []*unit) {
	g := p.in.Policy.Guard
	g.Sent = slices.Clone(g.Sent)
	g.Sent = slices.DeleteFunc(g.Sent, func(at time.Time) bool { return p.now.Sub(at) > guardWindow })
	held := g.Held
	g.Held = nil
	if len(counted)+len(g.Sent) == 0 || p.in.Policy.AllowDeletes {
		p.res.Guard = Guard{}
		p.uncount(counted)
		return
	}
	if g.Had == 0 {
		g.Had = p.in.Local.BaseCount
	}
	total := len(counted) + len(g.Sent)
	tripped := total > guardLeast && 2*total > g.Had
	for _, u := range counted {
		if !tripped && !held[u.id] {
			continue
		}
		if g.Held == nil {
			g.Held = map[string]bool{}
		}
		g.Held[u.id] = true
		u.hold = Guarded
	}
	if tripped && len(held) == 0 && len(g.Held) > 0 {
		p.res.Notes = append(p.res.Notes, Note{Kind: MassDelete, Count: len(g.Held), Of: g.Had})
	}
	p.res.Guard = g
}

// uncount keeps deletes that were allowed by hand out of the guard's window.
func (p *planner) uncount(counted []*unit) {
	for _, u := range counted {
		u.counted = false
	}
}

// paths is a set of file paths and of the directories above them.
type paths struct {
	files map[string]bool
	dirs  map[string]bool
}

// localPaths are the paths of the units' files. A clean file that is no unit
// cannot overlap a base path.
func (p *planner) localPaths() paths {
	set := paths{files: map[string]bool{}, dirs: map[string]bool{}}
	for _, u := range p.units {
		if u.local == nil {
			continue
		}
		set.files[u.local.Path] = true
		for dir := path.Dir(u.local.Path); dir != "/"; dir = path.Dir(dir) {
			set.dirs[dir] = true
		}
	}
	return set
}

// overlaps reports whether a file stands at, above or below the path.
func (s paths) overlaps(at string) bool {
	if s.files[at] || s.dirs[at] {
		return true
	}
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		if s.files[dir] {
			return true
		}
	}
	return false
}

// above yields the directories that a path lies in, without the root.
func above(at string) []string {
	var dirs []string
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// touches reports whether two paths are equal or cannot be in one store.
func touches(a, b string) bool { return a == b || store.Overlap(a, b) }
