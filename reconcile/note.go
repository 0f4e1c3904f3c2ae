package reconcile

import "memfs/store"

// Kind is what a note is about.
type Kind uint8

// What a plan has to tell people.
const (
	// Conflict: both sides changed; the store's version was kept (R7).
	Conflict Kind = iota + 1
	// Restored: deleted here, changed in the store; it is back (R8).
	Restored
	// Recreated: deleted in the store, changed here; it is made anew (R9).
	Recreated
	// KeptReadOnly: as Recreated, but the store is read-only (R9).
	KeptReadOnly
	// KeptLocal: as Recreated, but the name is a local-only file's (R17).
	KeptLocal
	// RenameUndone: the store has another memory at the new path, or another
	// path for the memory (R7).
	RenameUndone
	// PathLost: the store has a file where the mount had a directory, or the
	// other way round (R7).
	PathLost
	// StrayKept: written through a handle to a file that had been replaced (R7).
	StrayKept
	// WouldDelete: the log-only mode's report of a delete (R8).
	WouldDelete
	// MassDelete: the mass-delete guard holds deletes (R8).
	MassDelete
)

// Note is something to tell people, once.
type Note struct {
	Kind Kind
	// ID is the memory's; Path is where its file stands or stood in the mount,
	// To where the store has it.
	ID, Path, To string
	// Base, Local and Remote are the hashes of the three sides; zero where a
	// side has nothing.
	Base, Local, Remote store.SHA
	// Count deletes are held of a store that had Of memories (MassDelete).
	Count, Of int
}

func (u *unit) newNote(kind Kind) *Note {
	n := &Note{Kind: kind, ID: u.id, Path: u.name()}
	if u.base != nil {
		n.Base = u.base.SHA
	}
	if u.local != nil {
		n.Local = u.local.SHA
	}
	if u.remote != nil {
		n.Remote, n.To = u.remote.SHA, u.remote.Path
	}
	return n
}
