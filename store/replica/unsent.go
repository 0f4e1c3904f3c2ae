package replica

import (
	"cmp"
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
	for _, f := range s.edited() {
		u.Edits = append(u.Edits, f.Path)
		u.note(f.Changed())
	}
	for _, stray := range s.Strays {
		u.Edits = append(u.Edits, stray.Path)
		u.note(stray.Written)
	}
	for _, m := range s.Memories {
		if m.At == nil && m.Carrier == nil {
			u.Deletes = append(u.Deletes, m.Base.Path)
			u.note(m.Touched)
		}
	}
	slices.Sort(u.Edits)
	u.Edits = slices.Compact(u.Edits) // a stray may have the path of a file
	slices.Sort(u.Deletes)
	return u
}

// edited are the files that were made, changed or renamed, each once.
func (s Snapshot) edited() []File {
	seen := make(map[Ino]bool)
	var files []File
	add := func(f *File) {
		if f != nil && !seen[f.Ino] {
			seen[f.Ino] = true
			files = append(files, *f)
		}
	}
	for i := range s.Files {
		add(&s.Files[i])
	}
	for _, m := range s.Memories {
		add(cmp.Or(m.At, m.Carrier))
	}
	return files
}

func (u *Unsent) note(at time.Time) {
	if at.After(u.Newest) {
		u.Newest = at
	}
}

// Text is a content that the store may not have.
type Text struct {
	Ino  Ino
	Gen  uint64
	Path string
}

// Unsaved are the texts behind Unsent's edits, for Content.
func (s Snapshot) Unsaved() []Text {
	var texts []Text
	for _, f := range s.edited() {
		texts = append(texts, Text{Ino: f.Ino, Gen: f.Gen, Path: f.Path})
	}
	for _, stray := range s.Strays {
		texts = append(texts, Text{Ino: stray.Ino, Gen: stray.Gen, Path: stray.Path})
	}
	return texts
}
