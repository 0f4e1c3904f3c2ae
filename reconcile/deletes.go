package reconcile

import (
	"slices"
	"strings"

	"memfs/store"
	"memfs/store/replica"
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

// guardLeast is how many deletes the mass-delete guard lets go in any case (R8).
const guardLeast = 8

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
	var deletes []*unit
	for _, u := range p.units {
		if u.step != remove {
			p.judge(u, replica.Unjudged)
			continue
		}
		if u.hold == ReadOnly || u.hold == InFlight {
			continue
		}
		if p.in.Policy.Deletions != DeletionsEnabled {
			p.suppress(u)
			continue
		}
		if u.heir == nil && !local.overlaps(u.base.Path) {
			deletes = append(deletes, u)
		}
	}
	p.guard(deletes)
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
// are more than guardLeast and more than half of what the store had at the first
// of them. What it holds stays held until it is allowed or put back, and what was
// allowed is not counted.
func (p *planner) guard(deletes []*unit) {
	counted := map[string]bool{}
	for _, u := range deletes {
		switch {
		case p.in.Policy.NoGuard, u.verdict == replica.Allowed:
		case p.in.Policy.AllowDeletes:
			p.judge(u, replica.Allowed)
		default:
			u.counted, counted[u.id] = true, true
		}
	}
	had, total := p.in.Local.BaseCount, len(counted)
	for i, sent := range p.in.Local.Counted {
		if i == 0 {
			had = sent.Had
		}
		if !counted[sent.ID] {
			total++
		}
	}
	held := 0
	tripped := total > guardLeast && 2*total > had
	for _, u := range deletes {
		if u.counted && (tripped || u.verdict == replica.HeldBack) {
			p.judge(u, replica.HeldBack)
			u.hold = Guarded
			held++
		}
	}
	if held > 0 {
		p.res.Notes = append(p.res.Notes, Note{Kind: MassDelete, Count: held, Of: had})
	}
}

// judge notes what is decided about the unit's delete, to be kept.
func (p *planner) judge(u *unit, v replica.Verdict) {
	if u.verdict == v {
		return
	}
	u.verdict = v
	if p.res.Verdicts == nil {
		p.res.Verdicts = map[string]replica.Verdict{}
	}
	p.res.Verdicts[u.id] = v
}

// paths is a set of file paths and of the directories above them.
type paths struct {
	files map[string]bool
	dirs  map[string]bool
}

// localPaths are the paths of the units' files, without those that replace
// nothing in the store (R17). A clean file that is no unit cannot overlap a base
// path.
func (p *planner) localPaths() paths {
	set := paths{files: map[string]bool{}, dirs: map[string]bool{}}
	for _, u := range p.units {
		if u.local == nil || u.scratch() {
			continue
		}
		set.files[u.local.Path] = true
		for _, dir := range above(u.local.Path) {
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
	return slices.ContainsFunc(above(at), func(dir string) bool { return s.files[dir] })
}

// above returns the directories that a path lies in, the nearest first, without
// the root. It ends on any text: a server may say what is no path at all.
func above(at string) []string {
	var dirs []string
	for i := strings.LastIndexByte(at, '/'); i > 0; i = strings.LastIndexByte(at[:i], '/') {
		dirs = append(dirs, at[:i])
	}
	return dirs
}

// touches reports whether two paths are equal or cannot be in one store.
func touches(a, b string) bool { return a == b || store.Overlap(a, b) }
