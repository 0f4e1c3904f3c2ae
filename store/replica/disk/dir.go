package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. It is safe for concurrent use.
type Dir struct {
	path   string
	parent *Dir // nil for the one that Open gave
	name   string
	hook   Hook
	opened *atomic.Uint64 // numbers open files, for the hook
	// handle changes only where the directory was removed and made anew.
	handle   atomic.Pointer[os.File]
	reviving sync.Mutex
}

// Open opens the directory at path and makes it, and its parents, with mode
// 0700 where they are missing. It fails with *UnsafeError where path is a
// symbolic link, has another owner, gives group or others any access, or
// cannot be made or looked into. The hook may be nil.
func Open(path string, hook Hook) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, hook: hook, opened: new(atomic.Uint64)}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

// Sub opens the directory name within d, by the rules of Open.
func (d *Dir) Sub(name string) (*Dir, error) {
	sub := &Dir{path: filepath.Join(d.path, name), parent: d, name: name, hook: d.hook, opened: d.opened}
	if err := checkName(name); err != nil {
		return nil, d.pathError(KindMkdir, name, err)
	}
	if err := sub.open(); err != nil {
		return nil, err
	}
	return sub, nil
}

// Path is where the directory was opened, for messages only.
func (d *Dir) Path() string { return d.path }

// Close gives the handle back. Files opened from d stay open.
func (d *Dir) Close() error { return d.handle.Load().Close() }

// Sync makes the directory's names durable.
func (d *Dir) Sync(label string) error {
	err := d.run(Op{Label: label, Kind: KindSync, Name: "."}, d.handle.Load().Sync)
	return d.pathError(KindSync, "", err)
}

// run does f as operation op, which the hook sees.
func (d *Dir) run(op Op, f func() error) error {
	if d.hook != nil {
		op.Dir = d.path
	}
	return d.hook.run(op, f)
}

// at calls f with the directory's descriptor.
func (d *Dir) at(f func(fd int) error) error { return withFD(d.handle.Load(), f) }

// withFD calls f with a descriptor that stays open meanwhile, again for as
// long as a signal interrupts it.
func withFD(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = f(int(fd)); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return result
}

// checkName refuses what is not a single path component.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return unix.EINVAL
	}
	return nil
}
