package reconcile

import (
	"slices"
	"time"

	"memfs/store"
	"memfs/store/replica"
)

// Input is everything that a plan depends on.
type Input struct {
	// Local is the replica's side. It must have been asked for every memory in
	// Remote.
	Local replica.Snapshot
	// Remote is the store's side of each memory that differs from base or is
	// not in base; nil where the memory is gone. A memory of base that is not
	// in it is in the store as base has it.
	Remote map[string]*store.Memory
	// View finds every memory of the store, changed or not, by path.
	View Index
	// Listed is when the whole store was last listed.
	Listed time.Time
	Policy Policy
}

// Index finds the store's memories by path.
type Index interface {
	// At returns the id of the memory that has exactly this path.
	At(path string) (id string, ok bool)
	// Below returns the ids of the memories under the directory path.
	Below(path string) []string
	// Len is how many memories the store has.
	Len() int
}

// Policy is what an operator or the store's own state asks of a plan.
type Policy struct {
	// ReadOnly: nothing is ever sent (R10).
	ReadOnly bool
	// Archived: the store takes deletes only.
	Archived bool
	// Everything: nothing rests. For an explicit sync and the final pass (R4).
	Everything bool
	// Interval is the sync interval; rest is measured in it.
	Interval time.Duration
	// Steady is since when passes have come through: those of this process, since
	// the last that failed. What changed before may have rested meanwhile, and
	// could not be sent.
	Steady time.Time
	// Deletions says whether deletes are sent (R8).
	Deletions Deletions
	// AllowDeletes lets through what the mass-delete guard would hold, now and
	// until it is sent; NoGuard turns the guard off.
	AllowDeletes, NoGuard bool
	// MaxMemories is how many memories the store takes; 0 means no limit.
	MaxMemories int
	// Room is what is known of a store that refused creates; nil while it takes
	// them (R11).
	Room *Room
	// Refused are the refusals that the store has given, by local path.
	Refused map[string]Refusal
	// InFlight are the sends (by Seq) that have not been answered yet. What
	// they concern is left alone.
	InFlight map[uint64]bool
	// Split are memories with a path that the store does not rename them to
	// (one under the memory's own old path); they are deleted and made anew
	// there.
	Split map[string]string
}

// Refusal is a content or a name that the store will never take.
type Refusal struct {
	SHA store.SHA
	// Name is set where the path itself was refused and not the content.
	Name   bool
	Reason string
}

// Result is a plan. Settle comes first, then Changes as one set, then Sends.
type Result struct {
	// Settle are the outcomes of earlier sends that are known now.
	Settle []Settlement
	// Changes are the steps for the tree and base.
	Changes []Change
	// Sends are the requests, in the order in which to start them.
	Sends []Action
	// Held are the files and deletes that wait, and why.
	Held []Held
	// Deletes counts the local deletes that the mode or the guard keeps back.
	Deletes HeldDeletes
	// Notes are the warnings that go with the plan as a whole.
	Notes []Note
	// Verdicts are what was decided about local deletes, by memory, where it is
	// other than before. They are to be kept before anything is sent.
	Verdicts map[string]replica.Verdict
	// Emptied are the files that were emptied and rest so: they are meant to be
	// empty, whether that can be sent or not (R16).
	Emptied []replica.File
	// Wake is when the first of what rests is due; zero if nothing rests.
	Wake time.Time
	// Doubt: the outcome of a send is not known and nothing planned will tell
	// it, so the whole store is to be listed (R5).
	Doubt bool
	// Again asks for another plan as soon as this one is carried out.
	Again bool
	// MarkerBad: the marker is missing or altered, so nothing was planned (R13).
	MarkerBad bool
}

// Settlement is the outcome of an earlier send.
type Settlement struct {
	Seq uint64
	// Apply moves base to what was sent; nil where it was not applied.
	Apply *replica.Apply
}

// Change is one step for the tree.
type Change struct {
	replica.Apply
	// Version is the memory's version in the store, for fetching its content.
	Version string
	// Fetch is set where the content should be here before the step: what it
	// replaces is here too.
	Fetch bool
	// Note is what to log once the step is applied; nil if nothing.
	Note *Note
}

// Action is one request to the store.
type Action struct {
	Op replica.Op
	// ID is the memory's; "" for a create.
	ID string
	// Path is where the memory is after the request; "" for a delete.
	Path string
	// Rename says whether an update sends the path.
	Rename bool
	// Content says whether the file's content is sent.
	Content bool
	// Expect is the hash of the memory's present content in the store.
	Expect store.SHA
	// Ino and Gen name the file that is sent, SHA its content. They are zero
	// for a delete.
	Ino replica.Ino
	Gen uint64
	SHA store.SHA
	// Base is what was agreed before; zero for a create.
	Base replica.Base
	// Local is where the file, or the name that was deleted, stands in the
	// mount.
	Local string
	// Counted: the delete counts for the mass-delete guard.
	Counted bool
	// began is what was known when the request began.
	began attempt
	// After are the indices of the sends that must have succeeded before.
	After []int
}

// Held is a file, or a delete, that is not sent now.
type Held struct {
	// Ino is 0 for a delete.
	Ino  replica.Ino
	Gen  uint64
	ID   string
	Path string
	SHA  store.SHA
	Hold Hold
	// Reason says it in words.
	Reason string
}

// Plan says what to do about the differences between base, the mount and the
// store. It is a pure function.
func Plan(in Input) Result {
	if !in.Local.MarkerOK {
		return Result{MarkerBad: true}
	}
	p := &planner{in: in, now: in.Local.Time, memories: map[string]*replica.Memory{}, byID: map[string]*unit{}}
	p.load()
	p.settle()
	p.identify()
	for _, u := range p.units {
		p.decide(u)
		p.rest(u)
	}
	p.markInFlight()
	p.judgeDeletes()
	p.splitRefused()
	p.resolveOverlaps()
	p.keepScratch()
	p.limitCreates()
	p.strays()
	p.emit()
	return p.res
}

type planner struct {
	in       Input
	now      time.Time
	memories map[string]*replica.Memory
	files    []*replica.File
	units    []*unit
	byID     map[string]*unit
	res      Result
}

// remoteOf is the store's side of a memory of base: nil where it is gone or
// has a path that cannot be shown (R12).
func (p *planner) remoteOf(b *replica.Base) *store.Memory {
	if m, changed := p.in.Remote[b.ID]; changed {
		if m == nil || !Mappable(m.Path) {
			return nil
		}
		return m
	}
	return &store.Memory{ID: b.ID, VersionID: b.VersionID, Path: b.Path, Size: b.Size, SHA: b.SHA,
		CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt}
}

// strays sends what was written to replaced inodes to the conflict area (R7).
func (p *planner) strays() {
	for _, s := range p.in.Local.Strays {
		due := s.Written.Add(replica.Quiet)
		if !p.in.Policy.Everything && due.After(p.now) && !s.Written.After(p.now) {
			p.wake(due)
			continue
		}
		p.res.Changes = append(p.res.Changes, Change{
			Apply: replica.Apply{Place: replica.DropFile, Ino: s.Ino, Gen: s.Gen,
				Loser: &replica.Loser{Reason: "stray"}},
			Note: &Note{Kind: StrayKept, ID: s.MemoryID, Path: s.Path, Local: s.SHA},
		})
	}
}

func (p *planner) wake(at time.Time) {
	if !at.IsZero() && (p.res.Wake.IsZero() || at.Before(p.res.Wake)) {
		p.res.Wake = at
	}
}

// emit turns what was decided into the result.
func (p *planner) emit() {
	for _, u := range p.units {
		if u.hold != free {
			p.emitHeld(u)
			continue
		}
		if u.step.local() {
			p.res.Changes = append(p.res.Changes, u.change())
		}
		p.res.Again = p.res.Again || u.more()
	}
	p.res.Sends = p.sends()
	p.res.Doubt = slices.ContainsFunc(p.in.Local.Sends, p.unsettled)
}

func (p *planner) emitHeld(u *unit) {
	if u.hold == Resting {
		p.wake(u.due)
	}
	h := Held{ID: u.id, Path: u.name(), Hold: u.hold, Reason: u.reason()}
	switch {
	case u.step == settled:
		return
	case u.local != nil:
		h.Ino, h.Gen, h.SHA = u.local.Ino, u.local.Gen, u.local.SHA
	case u.base == nil:
		return // nothing of ours waits
	case u.hold == Guarded || u.hold == Suppressed:
		p.res.Deletes.add(u)
		return
	}
	p.res.Held = append(p.res.Held, h)
}
