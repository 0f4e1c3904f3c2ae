package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// UnsafeError says that a directory or file is not one memfs will keep texts
// in: a symbolic link, somebody else's, open to others, or closed to memfs.
type UnsafeError struct {
	Path string
	// Problem is what is wrong with it, Remedy what to do about it.
	Problem string
	Remedy  string
	// Err is the fault that it showed by, if any.
	Err error
}

// Unwrap gives that fault.
func (e *UnsafeError) Unwrap() error { return e.Err }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Path, e.Problem, e.Remedy)
}

// ErrLocked: another process (or another part of this one) holds the lock.
var ErrLocked = errors.New("locked by another process")

// LockedError is ErrLocked with who holds the lock.
type LockedError struct {
	Path string
	// PID is the holder's process id as it wrote it down; 0 if unknown.
	PID int
	// Ending is set where the holder said that it is about to end.
	Ending bool
}

func (e *LockedError) Error() string {
	switch {
	case e.PID == 0:
		return "another process has locked " + e.Path
	case e.Ending:
		return fmt.Sprintf("process %d, which is about to end, has locked %s", e.PID, e.Path)
	default:
		return fmt.Sprintf("process %d has locked %s", e.PID, e.Path)
	}
}

// Is makes errors.Is(err, ErrLocked) hold.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// NoSpace reports whether err says that the disk or a quota is full.
func NoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// pathError puts operation and path to err, once.
func (d *Dir) pathError(kind Kind, name string, err error) error {
	if err == nil {
		return nil // before the variables, which cost an allocation each
	}
	var unsafe *UnsafeError
	var locked *LockedError
	if errors.As(err, &unsafe) || errors.As(err, &locked) {
		return err
	}
	var inner *fs.PathError // package os has put its own
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: string(kind), Path: filepath.Join(d.path, name), Err: err}
}
