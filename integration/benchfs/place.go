//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"memfs/store"
)

// place is one filesystem with the files in it.
type place struct {
	name  string
	root  string
	files []string
	dirs  []string
	large string

	text, largeText, buf []byte
}

// The names of the filesystems.
const (
	onMemfs     = "memfs"
	onExt4      = "ext4"
	onJournaled = "ext4 with a journal"
)

func newPlace(name, root string) *place {
	p := &place{name: name, root: root, text: text(1<<32, usual.size), largeText: text(1<<33, largeSize),
		buf: make([]byte, 2*largeSize), large: filepath.Join(root, "large.md")}
	for i := range usual.files {
		p.files = append(p.files, filepath.Join(root, usual.name(i)))
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

// never is an interval in which no pass comes while something is measured.
const never = 24 * time.Hour

// memfs mounts a new store with the files, all contents fetched.
func (b *bench) memfs(ctx context.Context) (*place, *mounted, error) {
	dir, err := b.newDir("store")
	if err != nil {
		return nil, nil, err
	}
	remote, err := b.serve(dir, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := remote.seed(ctx, usual)
	if err != nil {
		return nil, nil, err
	}
	m, err := b.mount(mountConfig{URL: remote.url, Store: info, Interval: never, Hydrate: true}, 1)
	if err != nil {
		return nil, nil, err
	}
	b.after(m.End)
	return newPlace(onMemfs, m.path), m, m.await()
}

// ext4 is the given directory.
func (b *bench) ext4() (*place, error) {
	dir, err := b.newDir("ext4")
	if err != nil {
		return nil, err
	}
	b.report.note("ext4: %s", mountOptions(dir))
	p := newPlace(onExt4, filepath.Join(dir, "files")) // as deep as a mount: each name of a path counts
	return p, p.fill()
}

// journaled is a new ext4 in a loop file; nil without an error where it cannot
// be had, which the report says.
func (b *bench) journaled() (*place, *loop, error) {
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
	p := newPlace(onJournaled, filepath.Join(l.path, "files"))
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

// coldMount is the mount of a store whose contents are kept between mounts.
func (b *bench) coldMount(url string, info store.Info, state string, hydrate bool) (*mounted, error) {
	return b.mount(mountConfig{URL: url, Store: info, StateDir: state, Interval: never, Hydrate: hydrate, Keep: hydrate}, 1)
}
