package reconcile

// axis is how one property of a memory, its content or its path, stands
// between base, the mount and the store.
type axis uint8

const (
	same   axis = iota // unchanged
	ours               // changed here
	theirs             // changed in the store
	both               // changed on both sides, to the same
	clash              // changed on both sides, to different values
)

func compare[T comparable](base, local, remote T) axis {
	switch {
	case local == base && remote == base:
		return same
	case local == remote:
		return both
	case remote == base:
		return ours
	case local == base:
		return theirs
	default:
		return clash
	}
}

// steps is the step for a memory that stands on both sides, by the state of its
// content (row) and of its path (column). The store wins a clash (R7). Where
// the content is to be pulled and the path to be sent, the path goes first; the
// next plan pulls.
var steps = [5][5]step{
	//       same     ours    theirs both    clash
	same:   {settled, update, move, adopt, move},
	ours:   {update, update, move, update, move},
	theirs: {pull, update, pull, pull, pull},
	both:   {adopt, update, move, adopt, move},
	clash:  {pull, update, pull, pull, pull},
}

// decide finds the step for a unit, as if it were alone.
func (p *planner) decide(u *unit) {
	switch {
	case u.base == nil:
		p.decideNew(u)
	case u.local == nil:
		p.decideDeleted(u)
	case u.remote == nil:
		p.decideGone(u)
	default:
		p.decideStanding(u, compare(u.base.Path, u.local.Path, u.remote.Path))
	}
}

// decideNew is for what was never agreed on: a file made here, a memory made
// there, or both at one path.
func (p *planner) decideNew(u *unit) {
	switch {
	case u.remote == nil:
		u.step = create
		u.hold = p.unsendable(u)
	case u.local == nil:
		u.step = pull
	case u.local.SHA == u.remote.SHA:
		u.step = adopt
	default:
		u.step, u.loser, u.note = pull, "create", u.newNote(Conflict)
	}
}

// decideDeleted is for a memory whose file was deleted here. Any change in the
// store beats that (R8).
func (p *planner) decideDeleted(u *unit) {
	switch {
	case u.remote == nil:
		u.step = forget
	case u.remote.SHA == u.base.SHA && u.remote.Path == u.base.Path:
		u.step = remove
		if p.in.Policy.ReadOnly {
			u.hold = ReadOnly
		}
	default:
		u.step, u.note = pull, u.newNote(Restored)
	}
}

// decideGone is for a memory that was deleted in the store. A file that was
// edited or renamed stays, and becomes a new memory by the next plan (R9), or
// local only (R17).
func (p *planner) decideGone(u *unit) {
	switch {
	case u.local.SHA == u.base.SHA && u.local.Path == u.base.Path:
		u.step = drop
	case p.in.Policy.ReadOnly:
		u.step, u.note = forget, u.newNote(KeptReadOnly)
	case u.local.Scratch:
		u.step, u.note = forget, u.newNote(KeptLocal)
	default:
		u.step, u.note = forget, u.newNote(Recreated)
	}
}

// decideStanding is for a memory that stands on both sides; path may be other
// than it looks where a rename has to be undone.
func (p *planner) decideStanding(u *unit, path axis) {
	content := compare(u.base.SHA, u.local.SHA, u.remote.SHA)
	if p.in.Policy.ReadOnly && path == ours && u.pulls() {
		path = theirs
	}
	u.step = steps[content][path]
	u.sendContent, u.sendPath = content == ours, path == ours
	u.hold, u.note, u.loser = free, nil, ""
	switch {
	case u.step == update:
		p.decideUpdate(u, path)
	case u.step == pull && content == clash:
		u.loser, u.note = "edit", u.newNote(Conflict)
	case path == clash:
		u.note = u.newNote(RenameUndone)
	case u.step == settled && (u.remote.VersionID != u.base.VersionID || u.local.MemoryID != u.id):
		u.step = adopt // also by a new file that is as the old one was
	}
}

// decideUpdate says what of an update cannot be sent. A rename goes out also
// where the content cannot.
func (p *planner) decideUpdate(u *unit, path axis) {
	hold := p.unsendable(u)
	if (hold == Refused || hold == Failed) && u.sendContent {
		refusal := p.in.Policy.Refused[u.local.Path]
		switch {
		case path == ours && !refusal.Name:
			u.sendContent, hold = false, free
		case path == both:
			u.step, hold = adopt, free
		}
	}
	u.hold = hold
}

// unsendable is why a unit's content or name cannot be sent whatever happens
// elsewhere; free if it can.
func (p *planner) unsendable(u *unit) Hold {
	refusal, refused := p.in.Policy.Refused[u.local.Path]
	refused = refused && refusal.SHA == u.local.SHA
	needsContent := u.step == create || u.sendContent
	switch {
	case p.in.Policy.ReadOnly:
		return ReadOnly
	case p.in.Policy.Archived:
		return Archived
	case refused && (needsContent || refusal.Name):
		return Refused
	case needsContent && (u.local.Failed || u.local.SHA.IsZero()):
		return Failed
	default:
		return free
	}
}

// undo gives up a rename: the memory's place is the store's.
func (p *planner) undo(u *unit) {
	p.decideStanding(u, theirs)
	if u.note == nil {
		u.note = u.newNote(RenameUndone)
	}
}
