package process

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Harden keeps others out of this process: its memory and environment cannot
// be read by processes of the same user (R18), and what it creates is for its
// owner only. It returns the umask that was in force before.
func Harden() (umask int, err error) {
	return unix.Umask(0o077), dumpable(false)
}

var umaskLock sync.Mutex

// WithUmask runs f under the given umask and puts the former one back. A umask
// belongs to the whole process, so this is for starting a child, which
// inherits it, and for nothing that takes long.
func WithUmask(umask int, f func() error) error {
	umaskLock.Lock()
	defer umaskLock.Unlock()
	defer unix.Umask(unix.Umask(umask))
	return f()
}

// Dumpable runs f while the process is dumpable, which the kernel asks of one that
// sets the ids of a new user namespace. It is for starting a child, and for nothing
// that takes long.
func Dumpable(f func() error) error {
	if err := dumpable(true); err != nil {
		return err
	}
	return errors.Join(f(), dumpable(false))
}
