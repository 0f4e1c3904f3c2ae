//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// place is one filesystem with the files in it.
type place struct {
	name  string
	root  string
	files []string
	dirs  []string
	large string
	slow  bool // it takes milliseconds for what takes the others microseconds

	text, largeText, buf []byte
}

func newPlace(name, root string) *place {
	p := &place{name: name, root: root, text: text(1<<32, 0, usual.size), largeText: text(1<<33, 0, largeSize),
		buf: make([]byte, 2*largeSize), large: filepath.Join(root, "large.md")}
	for i := range usual.count {
		p.files = append(p.files, filepath.Join(root, usual.path(i)))
	}
	for i := range usual.dirs {
		p.dirs = append(p.dirs, filepath.Dir(p.files[i]))
	}
	return p
}

// fill makes the files.
func (p *place) fill() error {
	if err := os.MkdirAll(p.root, 0o700); err != nil {
		return err
	}
	return usual.write(p.root)
}

// ext4 is the given directory.
func (b *bench) ext4() (*place, error) {
	dir, err := b.newDir("ext4")
	if err != nil {
		return nil, err
	}
	b.report.note("ext4: %s", mountOptions(dir))
	p := newPlace(plain, filepath.Join(dir, "files")) // as deep as a mount: each name of a path counts
	return p, p.fill()
}

// rclonePlace is a mount of rclone's that sends nothing while it is measured; nil
// where there is none.
func (b *bench) rclonePlace() (*place, error) {
	if !b.haveRclone() {
		return nil, nil
	}
	r, err := b.startRclone(usual, 0, never)
	if err != nil {
		return nil, err
	}
	b.after(r.close)
	p := newPlace(rcloned, r.path)
	p.slow = true
	return p, nil
}

// loopPlace is a new ext4 in a loop file; nil without an error where it cannot
// be had, which the report says.
func (b *bench) loopPlace() (*place, *loop, error) {
	dir, err := b.newDir("loop")
	if err != nil {
		return nil, nil, err
	}
	l := &loop{image: filepath.Join(dir, "image"), path: filepath.Join(dir, "mnt")}
	if err := l.make(); err != nil {
		b.report.note("no ext4 with a journal to compare with: %v", err)
		return nil, nil, nil
	}
	b.after(l.unmount)
	p := newPlace(journaled, filepath.Join(l.path, "files"))
	return p, l, p.fill()
}

// loop is an ext4 with a journal in a file.
type loop struct{ image, path string }

const loopSize = "512M"

func (l *loop) make() error {
	if err := os.Mkdir(l.path, 0o700); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"truncate", "-s", loopSize, l.image},
		{"mkfs.ext4", "-q", "-F", "-O", "has_journal", l.image},
	} {
		if err := shell(command...); err != nil {
			return err
		}
	}
	return l.mount()
}

func (l *loop) mount() error   { return shell("mount", "-o", "loop", l.image, l.path) }
func (l *loop) unmount() error { return shell("umount", l.path) }

func shell(command ...string) error {
	said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command[0], err, strings.TrimSpace(string(said)))
	}
	return nil
}
