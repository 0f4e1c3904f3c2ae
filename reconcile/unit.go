package reconcile

import (
	"fmt"
	"time"

	"memfs/store"
	"memfs/store/replica"
)

// unit is one thing to decide about: a memory of base, a memory that is new in
// the store, or a file that is to become a memory.
type unit struct {
	// id is the memory's; "" for a file that has none yet.
	id string
	// base is nil for what was never agreed on.
	base *replica.Base
	// local is the file that stands for the memory (R6); nil if it was deleted.
	local *replica.File
	// remote is the memory in the store; nil if it is not there.
	remote *store.Memory
	// heir is the unit whose place this memory's file has taken: the memory was
	// renamed over another one.
	heir *unit
	// touched and first are when a name of a deleted memory last and first
	// changed.
	touched, first time.Time

	step step
	// sendContent and sendPath say what an update changes.
	sendContent, sendPath bool
	// loser says that the file's text is to be kept, and why; "" if it is not.
	loser string
	note  *Note
	// winner is the memory that the unit's file yields its path to.
	winner *unit
	// verdict is what was decided about a delete, counted that the mass-delete
	// guard counts it.
	verdict replica.Verdict
	counted bool
	// split: an update of the path that is sent as a delete and a create.
	split bool

	hold Hold
	// due is when what rests is due; blocker is what a waiting unit waits for.
	due     time.Time
	blocker string
}

// step is what to do about a unit.
type step uint8

const (
	// settled: nothing to do.
	settled step = iota
	// adopt: base becomes what the store has; the tree stays.
	adopt
	// forget: the memory leaves base; a file that stands stays.
	forget
	// pull: the store's content and path take the file's place.
	pull
	// move: the store's path; the file and its content stay.
	move
	// drop: the file goes.
	drop
	// create, update and remove are sent.
	create
	update
	remove
)

// local reports whether the step concerns base and tree only.
func (s step) local() bool { return s >= adopt && s <= drop }

// Hold is why something is not done in this plan.
type Hold uint8

// Why something waits.
const (
	free Hold = iota
	// Resting: it changed too short a time ago (R4).
	Resting
	// InFlight: an earlier request for it has not been answered.
	InFlight
	// Refused: the store will never take this content or name (R11).
	Refused
	// Failed: its last write failed, so that it is half a save (R4).
	Failed
	// ReadOnly: the store is attached without the right to write (R10).
	ReadOnly
	// Archived: the store takes no more creates and updates.
	Archived
	// Full: the store holds as many memories as it may.
	Full
	// Queued: the store refused others for a reason that is not known yet, so
	// that this one waits for its turn.
	Queued
	// Suppressed: the deletion mode keeps the delete back (R8).
	Suppressed
	// Guarded: the mass-delete guard keeps the delete back (R8).
	Guarded
	// Waiting: it needs a path that something held occupies in the store.
	Waiting
	// Obstructed: the place in the tree is not free yet.
	Obstructed
	// Taken: a memory that cannot be shown here (R12) occupies the path.
	Taken
)

var holdWords = map[Hold]string{
	Resting:    "changed a moment ago",
	InFlight:   "a request for it has not been answered yet",
	Refused:    "the store will never take this content or name",
	Failed:     "its last write failed; save it again",
	ReadOnly:   "the store is attached read-only",
	Archived:   "the store is archived",
	Full:       "the store is full",
	Queued:     "the store refused others, so it waits for its turn",
	Suppressed: "deletes are not sent (--sync-deletions)",
	Guarded:    "held by the mass-delete guard; send with memfs sync --allow-deletes",
	Waiting:    "its path is not free in the store yet",
	Obstructed: "its place in the mount is not free yet",
	Taken:      "a memory that cannot be shown here takes the path in the store",
}

// tooLarge is why a file is held of which a write was cut off at the limit (R11).
var tooLarge = fmt.Sprintf("it was to be larger than the %d bytes that a memory can have; make it smaller and save it again", store.MaxContent)

// String says it in words.
func (h Hold) String() string { return holdWords[h] }

// reason says in words why the unit is held.
func (u *unit) reason() string {
	if u.hold == Failed && u.local != nil && u.local.Size >= store.MaxContent {
		return tooLarge
	}
	if u.blocker != "" {
		return u.hold.String() + ": " + u.blocker
	}
	return u.hold.String()
}

// scratch reports whether the unit is a file that is local only (R17).
func (u *unit) scratch() bool { return u.base == nil && u.local != nil && u.local.Scratch }

// freesPath reports whether the step makes the memory leave its present path in the
// store.
func (u *unit) freesPath() bool {
	return u.step == remove || u.step == update && u.sendPath
}

// claims is the path that the unit wants to have in the store and has not;
// "" if there is none.
func (u *unit) claims() string {
	if u.step == create || u.step == update && u.sendPath {
		return u.local.Path
	}
	return ""
}

// at is the time of the last local change, by which sends are ordered.
func (u *unit) at() time.Time {
	if u.local == nil {
		return u.touched
	}
	return later(u.local.Written, u.local.Moved)
}

// name is how people know the unit.
func (u *unit) name() string {
	switch {
	case u.local != nil:
		return u.local.Path
	case u.base != nil:
		return u.base.Path
	default:
		return u.remote.Path
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
