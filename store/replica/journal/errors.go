package journal

import (
	"errors"
	"fmt"

	"memfs/store/replica/disk"
)

var (
	// ErrNoSpace: the disk is full; nothing was appended. The system's error
	// is wrapped with it.
	ErrNoSpace = errors.New("no space for the journal")
	// ErrBroken: a sync failed, or half an append could not be taken back, or
	// somebody removed the file. What reached the disk is unknown, so every
	// Append and Sync fails until a checkpoint commits.
	ErrBroken = errors.New("the journal is broken")
	// ErrTooLarge: a payload is over MaxPayload, or empty.
	ErrTooLarge = errors.New("payload too large for the journal, or empty")
	// ErrClosed: the journal was closed.
	ErrClosed = errors.New("the journal is closed")
	// ErrCheckpointing: another checkpoint is under way.
	ErrCheckpointing = errors.New("another checkpoint of the journal is under way")
	// ErrHeader: a file does not begin with a journal's header.
	ErrHeader = errors.New("not a journal, or its header is damaged")
)

// VersionError says that a journal has a format this memfs does not read.
type VersionError struct {
	Path    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: journal of format version %d, this memfs reads version %d: use the memfs that wrote it, or a newer one",
		e.Path, e.Version, formatVersion)
}

// fullError is ErrNoSpace in the system's words.
type fullError struct{ error }

func (e fullError) Is(target error) bool { return target == ErrNoSpace }
func (e fullError) Unwrap() error        { return e.error }

// noSpace makes errors.Is(err, ErrNoSpace) hold for a full disk.
func noSpace(err error) error {
	if err != nil && disk.NoSpace(err) && !errors.Is(err, ErrNoSpace) {
		return fullError{err}
	}
	return err
}
