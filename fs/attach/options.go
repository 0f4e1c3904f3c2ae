package attach

import (
	"strings"

	"go.uber.org/zap"

	"memfs/fs"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/replica"
)

// Options are common to all stores of a session. The zero value but for
// StateDir is usable.
type Options struct {
	// StateDir keeps journals, contents and losing texts: a directory of this
	// user on a disk that outlives the process.
	StateDir string
	// Endpoint tells one API from another in the state directory.
	Endpoint string
	// Session keeps the state of sessions apart; "" goes by mount path.
	Session string
	// Sync says how changes travel.
	Sync reconcile.Options
	// Strict mounts read-only stores so that nobody can write (R10).
	Strict bool
	// MaxMemories is the store's cap; 0 is store.DefaultMaxMemories.
	MaxMemories int
	// AllowOther lets other users of the host in, as far as modes do.
	AllowOther bool
	// Owner owns what stores bring; nil is the user and group of this process.
	// Other users than this process's need AllowOther to get in.
	Owner *Owner
	// FileMode and DirMode are the permission bits of what stores bring; 0 is
	// 0600 and 0700.
	FileMode, DirMode uint32
	// AcceptEmptyDir mounts on empty directories that exist already, and
	// leaves them there at the end (R1).
	AcceptEmptyDir bool
	// KeepCache leaves contents in the state directory at the end, for a
	// faster next attach.
	KeepCache bool
	// Observe hears of each file operation once it is answered; see
	// fs.Options. nil costs nothing.
	Observe func(fs.Operation)
	// Log gets one line an event; nil logs nothing.
	Log *zap.Logger
}

// Owner is a user and a group.
type Owner struct{ UID, GID uint32 }

// Store is one store to attach.
type Store struct {
	// Client attaches for reading and writing, Reader read-only. Exactly one
	// is set.
	Client store.Client
	Reader store.Reader
	// Info describes the store; ID is required.
	Info store.Info
	// Path is where to mount, absolute and clean.
	Path string
}

// StoreError says which store an attach, a sync or the end of a session failed
// for.
type StoreError struct {
	// Store is its id, Path where it is, or was to be, mounted.
	Store, Path string
	Err         error
}

// Error implements error. What the API says may name the store already.
func (e *StoreError) Error() string {
	prefix := "store " + e.Store + ": "
	return prefix + strings.TrimPrefix(e.Err.Error(), prefix)
}

// Unwrap is why.
func (e *StoreError) Unwrap() error { return e.Err }

func (o *Options) owner() (uid, gid uint32) {
	if o.Owner != nil {
		return o.Owner.UID, o.Owner.GID
	}
	return replica.Owner()
}
