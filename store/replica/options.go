package replica

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica/disk"
)

// Fetcher gets a content from the store: the memory's present content if its
// hash is want, else that of the version.
type Fetcher func(ctx context.Context, memoryID, versionID string, want store.SHA) ([]byte, error)

// Options say whose working copy a replica is and where it is kept.
type Options struct {
	// Dir is the state directory; the replica lives in a directory of its own
	// below it, named by endpoint, store and session or mount path (R18).
	Dir       string
	Store     store.Info
	Endpoint  string
	MountPath string
	Session   string
	// ReadOnly: local changes are allowed and never sent (R10).
	ReadOnly bool
	// MaxMemories is the store's cap; 0 is store.DefaultMaxMemories.
	MaxMemories int
	// ScratchLimit bounds local-only files together, in bytes; 0 is 64 MiB.
	ScratchLimit int64
	// Scratch are the patterns of local-only names; nil is DefaultScratch.
	Scratch Patterns
	// Fetch gets contents that were never needed here; nil fails such reads.
	Fetch Fetcher
	// FetchTimeout bounds one fetch; 0 is 10 s (R14).
	FetchTimeout time.Duration
	// Missing is told when the store has no such content any more, so that a
	// pass can look at once; may be nil.
	Missing func(memoryID string)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log gets one line an event; nil logs nothing.
	Log *zap.Logger
	// UID and GID own what the store brings; FileMode and DirMode are their
	// permission bits, 0 for 0600 and 0700.
	UID, GID          uint32
	FileMode, DirMode uint32
	// Hook injects faults into file operations in tests.
	Hook disk.Hook
}

const (
	defaultScratchLimit = 64 << 20
	defaultFetchTimeout = 10 * time.Second
	// spareMemories more than the cap are let in unsent, so that saves by
	// rename work in a full store (R11).
	spareMemories = 64
	// maxOthers more things than the cap may be made here: directories,
	// local-only files, and files without a name that somebody has open. What
	// each takes in memory is bounded by this.
	maxOthers = 10_000
)

func (o *Options) fill() {
	if o.MaxMemories == 0 {
		o.MaxMemories = store.DefaultMaxMemories
	}
	if o.ScratchLimit == 0 {
		o.ScratchLimit = defaultScratchLimit
	}
	if o.Scratch == nil {
		o.Scratch = DefaultScratch()
	}
	if o.FetchTimeout == 0 {
		o.FetchTimeout = defaultFetchTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.FileMode == 0 {
		o.FileMode = 0o600
	}
	if o.DirMode == 0 {
		o.DirMode = 0o700
	}
	if o.Missing == nil {
		o.Missing = func(string) {}
	}
}

// key names the replica's directory: one for each endpoint, store and session,
// or mount path where there is no session (R18). What was changed under
// read-only access is never sent (R10), so it has a directory of its own, and
// edits that are to be sent never get into it.
func (o *Options) key() string {
	who := o.Session
	if who == "" {
		who = o.MountPath
	}
	if o.ReadOnly {
		return digest(o.Endpoint, o.Store.ID, who, "read-only")
	}
	return digest(o.Endpoint, o.Store.ID, who)
}

// area names the store's conflict directory, shared by all sessions.
func (o *Options) area() string { return digest(o.Endpoint, o.Store.ID) }

// keyBytes is how much of a digest a directory's name has.
const keyBytes = 12

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:keyBytes])
}

// Owner is the user and group that this process runs as.
func Owner() (uid, gid uint32) { return uint32(os.Getuid()), uint32(os.Getgid()) }
