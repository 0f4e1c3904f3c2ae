//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// operation is one line of the table. The system calls are made directly, so
// that what Go's os package adds is not measured.
type operation struct {
	name   string
	target float64 // the ratio to ext4 of design §7; 0 where there is none
	// run does the operation count times on a filesystem.
	run func(p *place) (count int, err error)
	// warm: it is run once before, so that what is measured finds all caches
	// as it leaves them.
	warm bool
	// prepare and clean are what is not to be measured; may be nil.
	prepare, clean func(p *place) error
}

// usual is what the targets are about.
var usual = shape{count: 2000, dirs: 50, size: fileSize}

const (
	newFiles   = 200 // created in a round
	syncFiles  = 20
	someFiles  = 200 // existing files that are changed in a round
	appends    = 1000
	appendSize = 100
	largeFiles = 20
	largeSize  = 100_000

	createFlags = unix.O_CREAT | unix.O_EXCL
)

var operations = []operation{
	{name: "stat", warm: true, target: 1.2, run: each(usual.count, func(p *place, i int) error {
		var st unix.Stat_t
		return unix.Lstat(p.files[i], &st)
	})},
	{name: "open+read+close", warm: true, target: 1.3, run: each(usual.count, func(p *place, i int) error {
		return p.read(p.files[i], usual.size)
	})},
	{name: "readdir, a directory", warm: true, target: 3, run: each(4*usual.dirs, func(p *place, i int) error {
		return readDir(p.dirs[i%len(p.dirs)], p.buf)
	})},
	{name: "ls -lR, a file", warm: true, target: 1.2, run: program("ls", "-lR")},
	{name: "find -size, a file", warm: true, target: 2, run: program("find", ".", "-size", "+1k")},
	{name: "grep -r, a file", warm: true, target: 2.3, run: program("grep", "-r", "no such word 0", ".")},
	{name: "read 100 KB", warm: true, run: each(10*largeFiles, func(p *place, _ int) error {
		return p.read(p.large, largeSize)
	})},
	{name: "create+write+close", target: 1.3, run: each(newFiles, func(p *place, i int) error {
		return p.put(p.newName(i), p.text, createFlags)
	}), clean: removeNew(newFiles)},
	{name: "create+write+fsync+close", target: 1.3, run: each(syncFiles, func(p *place, i int) error {
		return p.putSynced(p.newName(i))
	}), clean: removeNew(syncFiles)},
	{name: "save by rename", target: 1.9, run: each(someFiles, func(p *place, i int) error {
		temp := p.files[i] + ".tmp"
		if err := p.put(temp, p.text, createFlags); err != nil {
			return err
		}
		return unix.Rename(temp, p.files[i])
	})},
	{name: "truncate+write+close", target: 1, run: each(someFiles, func(p *place, i int) error {
		return p.put(p.files[i], p.text, unix.O_TRUNC)
	})},
	{name: "open+append+close", target: 12, run: each(someFiles, func(p *place, i int) error {
		return p.put(p.files[someFiles+i], p.text[:appendSize], unix.O_APPEND)
	})},
	{name: "append, one of 1000", run: appendMany, clean: removeNew(1)},
	{name: "create+write 100 KB", run: each(largeFiles, func(p *place, i int) error {
		return p.put(p.newName(i), p.largeText, createFlags)
	}), clean: removeNew(largeFiles)},
	{name: "unlink", prepare: makeNew, run: each(newFiles, func(p *place, i int) error {
		return unix.Unlink(p.newName(i))
	})},
}

func makeNew(p *place) error {
	for i := range newFiles {
		if err := p.put(p.newName(i), p.text, createFlags); err != nil {
			return err
		}
	}
	return nil
}

func each(n int, do func(p *place, i int) error) func(*place) (int, error) {
	return func(p *place) (int, error) {
		for i := range n {
			if err := do(p, i); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
}

// program runs a program in the files' directory, which reads all of them. Its
// output goes to a pipe: grep does not read on when it is the null device.
func program(name string, args ...string) func(*place) (int, error) {
	return func(p *place) (int, error) {
		command := exec.Command(name, args...)
		command.Dir = p.root
		command.Stdout = io.MultiWriter(io.Discard) // hides that it discards, which os/exec would make a null device
		err := command.Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && name == "grep" && exit.ExitCode() == 1 {
			err = nil // it found nothing
		}
		return usual.count, err
	}
}

func appendMany(p *place) (int, error) {
	fd, err := unix.Open(p.newName(0), createFlags|unix.O_WRONLY|unix.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	for range appends {
		if err := writeAll(fd, p.text[:appendSize]); err != nil {
			return 0, err
		}
	}
	return appends, nil
}

func removeNew(n int) func(*place) error {
	return func(p *place) error {
		for i := range n {
			if err := unix.Unlink(p.newName(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// newName is the path of a file that is made in a round.
func (p *place) newName(i int) string {
	return filepath.Join(p.dirs[i%len(p.dirs)], fmt.Sprintf("new-%03d.md", i))
}

func (p *place) read(path string, size int) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, p.buf)
	if err == nil && n < size {
		err = fmt.Errorf("%s: %d bytes were read", path, n)
	}
	return err
}

func (p *place) put(path string, text []byte, flags int) error {
	fd, err := unix.Open(path, unix.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	if err := writeAll(fd, text); err != nil {
		_ = unix.Close(fd)
		return err
	}
	return unix.Close(fd)
}

func (p *place) putSynced(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|createFlags, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := writeAll(fd, p.text); err != nil {
		return err
	}
	return unix.Fsync(fd)
}

func writeAll(fd int, text []byte) error {
	n, err := unix.Write(fd, text)
	if err == nil && n != len(text) {
		err = io.ErrShortWrite
	}
	return err
}

func readDir(path string, buf []byte) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		if n, err := unix.ReadDirent(fd, buf); n == 0 || err != nil {
			return err
		}
	}
}
