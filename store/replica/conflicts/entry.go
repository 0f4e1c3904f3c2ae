package conflicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"memfs/store"
)

// ErrNotFound: there is no entry of that id.
var ErrNotFound = errors.New("no such conflict")

// ErrDamaged: an entry's description cannot be read, or its text is not the
// one that was saved.
var ErrDamaged = errors.New("damaged conflict")

// DamagedError names the entries that could not be listed. Their texts stay
// until they are too old.
type DamagedError struct{ IDs []string }

func (e *DamagedError) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, e.IDs) }

// Is makes errors.Is(err, ErrDamaged) hold.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Entry describes a text that lost.
type Entry struct {
	// ID names the entry; Save gives it. Ids sort by time.
	ID      string
	StoreID string
	Path    string
	// Reason is a short word, as in replica.Loser.
	Reason string
	// Base is what store and mount had last agreed on, Local the text kept
	// here (Save sets it), Remote what won. Zero where there is none.
	Base   store.SHA
	Local  store.SHA
	Remote store.SHA
	// Size is the text's length in bytes; Save sets it.
	Size int64
	// Time is when the text lost; Save sets it where it is zero.
	Time    time.Time
	Session string
	// MemoryID is the memory that it lost to or was an edit of; "" if there is
	// none.
	MemoryID string
	// Versions are versions in the store that hold this very text, as far as
	// they were seen (Note): where one is redacted the text goes (R19).
	Versions []string
	// ReadOnly: the text was written under read-only access (R10).
	ReadOnly bool
}

// record is an entry as it stands on disk.
type record struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"`
	StoreID string    `json:"store_id"`
	Path    string    `json:"path"`
	Reason  string    `json:"reason"`
	Base    string    `json:"base_sha256,omitempty"`
	Local   string    `json:"local_sha256"`
	Remote  string    `json:"remote_sha256,omitempty"`
	Size    int64     `json:"size"`
	Time    time.Time `json:"time"`
	Session string    `json:"session,omitempty"`

	MemoryID string   `json:"memory_id,omitempty"`
	Versions []string `json:"versions,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
}

const recordFormat = 1

func encode(e Entry) ([]byte, error) {
	text, err := json.MarshalIndent(record{
		Format: recordFormat, ID: e.ID, StoreID: e.StoreID, Path: e.Path, Reason: e.Reason,
		Base: hexOf(e.Base), Local: hexOf(e.Local), Remote: hexOf(e.Remote),
		Size: e.Size, Time: e.Time, Session: e.Session, MemoryID: e.MemoryID, Versions: e.Versions, ReadOnly: e.ReadOnly,
	}, "", "  ")
	return append(text, '\n'), err
}

func decode(id string, text []byte) (Entry, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Entry{}, err
	}
	if r.Format != recordFormat || r.ID != id {
		return Entry{}, fmt.Errorf("format %d of id %q", r.Format, r.ID)
	}
	base, err1 := parse(r.Base)
	local, err2 := parse(r.Local)
	remote, err3 := parse(r.Remote)
	return Entry{ID: r.ID, StoreID: r.StoreID, Path: r.Path, Reason: r.Reason, Base: base, Local: local,
		Remote: remote, Size: r.Size, Time: r.Time, Session: r.Session, MemoryID: r.MemoryID, Versions: r.Versions,
		ReadOnly: r.ReadOnly}, errors.Join(err1, err2, err3)
}

func hexOf(sha store.SHA) string {
	if sha.IsZero() {
		return ""
	}
	return sha.String()
}

func parse(s string) (store.SHA, error) {
	if s == "" {
		return store.SHA{}, nil
	}
	return store.ParseSHA(s)
}

const (
	textSuffix = ".txt"
	metaSuffix = ".json"
	idTime     = "20060102T150405.000Z"
)

var idPattern = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[A-Z2-7]{8}$`)

// newID makes an id that sorts by time.
func newID(t time.Time, unique string) string {
	return t.UTC().Format(idTime) + "-" + unique[:8]
}

// timeOf reads the time back from an id.
func timeOf(id string) time.Time {
	t, _ := time.Parse(idTime, id[:len(idTime)])
	return t
}
