package store

import "time"

// Memory is one document of a store.
type Memory struct {
	// ID stays the same across edits and renames.
	ID string
	// VersionID is the head version; it changes with every edit and rename.
	VersionID string
	// Path begins with a slash and is unique in the store.
	Path string
	// Size is the content's length in bytes, also where Content is nil.
	Size int64
	// SHA is the hash of the content's exact bytes, also where Content is nil.
	SHA SHA
	// Content is nil in the basic view.
	Content   []byte
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Info describes a store.
type Info struct {
	ID          string
	Name        string
	Description string
	Metadata    map[string]string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// ArchivedAt is zero while the store takes writes. An archived store can
	// still be read, and memories in it can still be deleted.
	ArchivedAt time.Time
}

// Archived reports whether the store refuses creates and updates.
func (i Info) Archived() bool { return !i.ArchivedAt.IsZero() }

// Operation is what wrote a version.
type Operation string

// The operations a version can record.
const (
	Created  Operation = "created"
	Modified Operation = "modified"
	Deleted  Operation = "deleted"
)

// Version is one entry of a memory's history. A redacted version has lost its
// path, content, hash and size; a deleted one has a path but no content.
type Version struct {
	ID        string
	MemoryID  string
	Operation Operation
	// Path is empty if and only if the version is redacted.
	Path string
	// Size and SHA are zero for deleted and redacted versions.
	Size       int64
	SHA        SHA
	Content    []byte
	CreatedAt  time.Time
	CreatedBy  Actor
	RedactedAt time.Time
}

// Redacted reports whether the version's text was removed from the store.
func (v Version) Redacted() bool { return !v.RedactedAt.IsZero() }

// Actor is who wrote a version: its kind ("session_actor", "api_actor",
// "user_actor", "service_account_actor") and the id that goes with the kind.
type Actor struct {
	Type string
	ID   string
}
