package replica

import (
	"time"

	"memfs/store"
)

// State is what became of a file, as users see it (design words: R20).
type State string

// The states of a file.
const (
	// Clean: the same here and in the store.
	Clean State = "clean"
	// Dirty: differs from the store and will be sent.
	Dirty State = "dirty"
	// Refused: a content or name that the store can never take.
	Refused State = "refused"
	// Scratch: local only.
	Scratch State = "scratch"
	// Remote: in the store, its content not needed here yet.
	Remote State = "remote"
	// Held: differs and is not sent for now; the reason says why.
	Held State = "held"
)

// Inspection is one file as its extended attributes show it.
type Inspection struct {
	ID        string
	VersionID string
	Path      string
	SHA       store.SHA
	// BaseSHA is the hash that the store last agreed to; zero if it never did.
	BaseSHA store.SHA
	State   State
	Reason  string
	// SyncedAt is when the store last agreed; zero if never.
	SyncedAt time.Time
}

// Usage is what df shows.
type Usage struct {
	Memories    int
	MaxMemories int
	Bytes       int64
	MaxBytes    int64
}

// Status counts a replica's files by what became of them. Every local file is
// in exactly one of Clean, Remote, Dirty, Refused, Held and Scratch.
type Status struct {
	StoreID   string `json:"store"`
	StoreName string `json:"store_name"`
	MountPath string `json:"path"`
	ReadOnly  bool   `json:"read_only"`
	// Area tells this store at this endpoint from others with the same id
	// (ConflictArea.Is).
	Area     string `json:"area"`
	MarkerOK bool   `json:"marker_ok"`

	Memories int `json:"memories"`
	Clean    int `json:"clean"`
	Remote   int `json:"unfetched"`
	Dirty    int `json:"dirty"`
	Refused  int `json:"refused"`
	Held     int `json:"held"`
	Scratch  int `json:"scratch"`
	// Deleted are memories removed here that the store still has.
	Deleted int `json:"deleted"`
	// Strays are texts written to files that a remote change had replaced.
	Strays int `json:"strays"`
	// Sending are requests whose outcome is not known.
	Sending   int `json:"sending"`
	Conflicts int `json:"conflicts"`

	ScratchBytes int64     `json:"scratch_bytes"`
	JournalBytes int64     `json:"journal_bytes"`
	OldestUnsent time.Time `json:"oldest_unsent,omitzero"`
}
