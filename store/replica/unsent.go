package replica

import (
	"slices"
	"time"
)

// Unsent names what is here and the store does not have, by path, sorted. It
// does not ask whether it may be sent: what was changed under read-only access
// is named too.
type Unsent struct {
	// Edits are files that were made, changed or renamed, and texts written to
	// files that a remote change had replaced.
	Edits []string
	// Deletes are memories that were removed here.
	Deletes []string
	// Newest is when the last of it happened; zero if nothing did.
	Newest time.Time
}

// Any reports whether there is anything.
func (u Unsent) Any() bool { return len(u.Edits)+len(u.Deletes) > 0 }

// Unsent says what the store does not have yet.
func (r *Replica) Unsent() Unsent { return r.Snapshot(nil, nil).unsent() }

func (s Snapshot) unsent() Unsent {
	var u Unsent
	edit := func(f *File) {
		u.Edits = append(u.Edits, f.Path)
		u.note(f.Changed())
	}
	for i := range s.Files {
		edit(&s.Files[i])
	}
	for _, m := range s.Memories {
		switch {
		case m.At != nil:
			edit(m.At)
		case m.Carrier != nil:
			edit(m.Carrier)
		default:
			u.Deletes = append(u.Deletes, m.Base.Path)
			u.note(m.Touched)
		}
	}
	for _, stray := range s.Strays {
		u.Edits = append(u.Edits, stray.Path)
		u.note(stray.Written)
	}
	for _, paths := range []*[]string{&u.Edits, &u.Deletes} {
		slices.Sort(*paths)
		*paths = slices.Compact(*paths)
	}
	return u
}

func (u *Unsent) note(at time.Time) {
	if at.After(u.Newest) {
		u.Newest = at
	}
}
