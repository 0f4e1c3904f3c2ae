package replica

import "errors"

// What the replica answers to a call. Package fs maps each to one errno.
var (
	// ErrNotExist: no such name.
	ErrNotExist = errors.New("no such file or directory")
	// ErrExist: the name is taken.
	ErrExist = errors.New("file exists")
	// ErrNotDir: a directory was needed.
	ErrNotDir = errors.New("not a directory")
	// ErrIsDir: a file was needed.
	ErrIsDir = errors.New("is a directory")
	// ErrNotEmpty: the directory has entries.
	ErrNotEmpty = errors.New("directory not empty")
	// ErrStale: the inode number is not known (any more), or the name belongs
	// to another inode than the kernel has seen there.
	ErrStale = errors.New("stale inode")
	// ErrInvalid: the arguments make no sense, such as a directory renamed
	// into itself.
	ErrInvalid = errors.New("invalid argument")
	// ErrNameTooLong: a name, or the path it gives this or a deeper file, is
	// longer than a store can hold (R11).
	ErrNameTooLong = errors.New("name or path too long")
	// ErrNameIllegal: a name that the store cannot hold (R11).
	ErrNameIllegal = errors.New("name not legal in a memory store")
	// ErrFileTooLarge: a memory may not be that large (R11).
	ErrFileTooLarge = errors.New("file too large for a memory")
	// ErrFull: the store has as many memories as it may (R11).
	ErrFull = errors.New("the store is full")
	// ErrTooMany: there are as many files and directories made here as there
	// may be, local-only ones and those without a name included.
	ErrTooMany = errors.New("too many files and directories")
	// ErrScratchFull: local-only files take all the room they may (R17).
	ErrScratchFull = errors.New("no room for local-only files")
	// ErrNoSpace: the disk under the state directory is full.
	ErrNoSpace = errors.New("no space left in the state directory")
	// ErrBroken: the journal cannot be written; nothing is acknowledged until
	// a fresh one stands.
	ErrBroken = errors.New("the journal cannot be written")
	// ErrNotFetched: content that was never needed here could not be had from
	// the store in time (R14).
	ErrNotFetched = errors.New("content could not be fetched from the store")
	// ErrDamaged: a local content cannot be read back from the state directory.
	ErrDamaged = errors.New("local content damaged")
	// ErrMoved: the file is no longer in the state that the caller saw.
	ErrMoved = errors.New("the file changed meanwhile")
	// ErrClosed: the replica is closed.
	ErrClosed = errors.New("the replica is closed")
	// ErrForeignState: the state on disk belongs to another store or endpoint.
	ErrForeignState = errors.New("state of another store")
	// ErrInUse: another process has this replica open.
	ErrInUse = errors.New("the state is in use")
)
