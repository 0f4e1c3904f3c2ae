package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lock is an exclusive lock on a file, held until Release or the end of the
// process.
type Lock struct{ f *File }

// Lock takes the lock on the file of that name, which it makes if need be,
// without waiting: *LockedError if somebody has it.
func (d *Dir) Lock(name string) (*Lock, error) {
	for {
		f, err := d.lockFile(name)
		if err != nil {
			return nil, err
		}
		err = d.run(Op{Label: "lock.take", Kind: KindLock, Name: name}, func() error {
			return withFD(f.f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		})
		if errors.Is(err, unix.EWOULDBLOCK) {
			pid, ending := f.readHolder()
			err = &LockedError{Path: filepath.Join(d.path, name), PID: pid, Ending: ending}
		}
		var st Stat
		if err == nil {
			st, err = f.Stat("lock.take")
		}
		if err == nil && st.Linked {
			if err = f.writeHolder(""); err == nil {
				return &Lock{f: f}, nil
			}
		}
		if closeErr := f.Close(); err != nil {
			return nil, errors.Join(d.pathError(KindLock, name, err), closeErr)
		}
		// The holder before us removed the file as it ended: lock the one
		// that has the name now.
	}
}

func (d *Dir) lockFile(name string) (*File, error) {
	for {
		f, err := d.OpenFile("lock.open", name, true)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = d.Create("lock.open", name)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// endingWord stands on the second line while the holder is about to end.
const endingWord = "ending\n"

// Ending tells those who find the lock taken that it will be given back soon.
func (l *Lock) Ending() error { return l.f.writeHolder(endingWord) }

// Linked reports whether the lock's file still has its name: without it the
// lock keeps nobody out.
func (l *Lock) Linked() bool {
	st, err := l.f.Stat("lock.check")
	return err == nil && st.Linked
}

// Release gives the lock back. The file stays.
func (l *Lock) Release() error { return l.f.Close() }

func (f *File) writeHolder(word string) error {
	text := strconv.Itoa(os.Getpid()) + "\n" + word
	if _, err := f.WriteAt("lock.pid", []byte(text), 0); err != nil {
		return err
	}
	return f.Truncate("lock.pid", int64(len(text)))
}

func (f *File) readHolder() (pid int, ending bool) {
	text := make([]byte, 64)
	n, _ := f.ReadAt("lock.pid", text, 0)
	first, rest, _ := strings.Cut(string(text[:n]), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, false
	}
	return pid, rest == endingWord
}
