//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names are what editors fight about: "n" is a file for one and a directory for
// another.
var Names = []string{"a.md", "b.md", "x/a.md", "x/b.md", "x/y/c.md", "z/a.md", "n", "n/deep.md"}

var directories = []string{"x", "x/y", "z", "n", "w"}

// Editor edits one directory of a mount, alone on its mount, as another does on
// the other mount. It knows which of its texts it has not itself destroyed.
type Editor struct {
	name string
	root string
	rand *rand.Rand
	// alive are the lines that it wrote, was told are written, and has not
	// overwritten or removed since. A line is known by itself and not by where
	// it was written: the other side may rename the file.
	alive map[string]string // line → the name it was written to
	n     int
	done  map[string]int // how often each kind of edit succeeded
}

// NewEditor makes an editor of a directory in a mount; its name is in its texts.
func NewEditor(name, root string, seed uint64) *Editor {
	return &Editor{name: name, root: root, rand: rand.New(rand.NewPCG(seed, 0)), alive: map[string]string{}, done: map[string]int{}}
}

// Run edits until ctx ends. An error is one that no change from the other side
// explains.
func (e *Editor) Run(ctx context.Context) error {
	for {
		if err := e.Edit(); err != nil {
			return err
		}
		select {
		case <-time.After(time.Duration(e.rand.IntN(150)) * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// Edit makes one edit. An error is one that no change from the other side
// explains.
func (e *Editor) Edit() error {
	edits := []struct {
		name  string
		often int
		do    func() error
	}{
		{"overwrite", 25, e.overwrite}, {"save by rename", 15, e.save}, {"append", 20, e.append}, {"rename", 10, e.rename},
		{"remove", 6, e.remove}, {"make a directory", 3, e.mkdir}, {"rename a directory", 5, e.renameDir},
		{"remove a directory", 3, e.removeDir}, {"file to directory", 4, e.toDir}, {"directory to file", 4, e.toFile},
	}
	total := 0
	for _, edit := range edits {
		total += edit.often
	}
	pick := e.rand.IntN(total)
	for _, edit := range edits {
		if pick -= edit.often; pick >= 0 {
			continue
		}
		switch err := edit.do(); {
		case err == nil:
			e.done[edit.name]++
		case !explained(err):
			return fmt.Errorf("%s: %s: %w", e.name, edit.name, err)
		}
		break
	}
	return nil
}

// Alive are the lines that must be somewhere, with the names that they were
// written to.
func (e *Editor) Alive() map[string]string { return e.alive }

// Written is how many lines it has written.
func (e *Editor) Written() int { return e.n }

// String says what it has done.
func (e *Editor) String() string {
	return fmt.Sprintf("%s: %v; %d of its %d lines must be somewhere", e.name, e.done, len(e.alive), e.n)
}

// explained: the other side has made, removed or moved what the edit is about.
func explained(err error) bool {
	for _, known := range []error{unix.ENOENT, unix.EEXIST, unix.ENOTDIR, unix.EISDIR, unix.ENOTEMPTY} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func (e *Editor) at(name string) string    { return filepath.Join(e.root, name) }
func (e *Editor) pick() string             { return Names[e.rand.IntN(len(Names))] }
func (e *Editor) directory() string        { return directories[e.rand.IntN(len(directories))] }
func (e *Editor) parent(name string) error { return os.MkdirAll(filepath.Dir(e.at(name)), 0o755) }

// line is a text like no other.
func (e *Editor) line() string {
	e.n++
	return fmt.Sprintf("%s wrote this as number %06d\n", e.name, e.n)
}

// destroys notes that a file is about to be overwritten or removed.
func (e *Editor) destroys(path string) {
	if text, err := os.ReadFile(path); err == nil {
		e.destroyed(text)
	}
}

func (e *Editor) destroyed(text []byte) {
	for line := range strings.Lines(string(text)) {
		delete(e.alive, line)
	}
}

// quick is how long it may take to look at a file and to remove it, so that no
// pass moves another one there between the two.
const quick = 5 * time.Millisecond

// perhaps forgets the lines that are nowhere in the directory, where a host was
// so slow that they may have been moved to where something was removed since
// began, unseen.
func (e *Editor) perhaps(began time.Time) {
	if time.Since(began) < quick {
		return
	}
	var all strings.Builder
	_ = filepath.WalkDir(e.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(path)
			all.Write(text)
		}
		return nil // what goes meanwhile is not there
	})
	for line := range e.alive {
		if !strings.Contains(all.String(), line) {
			delete(e.alive, line)
		}
	}
}

func (e *Editor) overwrite() error { return e.put(e.pick()) }

// put replaces what a file holds, as most tools do.
func (e *Editor) put(name string) error {
	if err := e.parent(name); err != nil {
		return err
	}
	f, err := os.OpenFile(e.at(name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	e.destroyed(old)
	line := e.line()
	if _, err := f.WriteAt([]byte(line), 0); err != nil {
		return err
	}
	e.alive[line] = name
	return nil
}

// save writes beside the file and renames over it, as editors do.
func (e *Editor) save() error {
	name := e.pick()
	beside := name + ".new"
	if err := e.put(beside); err != nil {
		return err
	}
	return e.move(beside, name)
}

func (e *Editor) append() error {
	name := e.pick()
	if err := e.parent(name); err != nil {
		return err
	}
	f, err := os.OpenFile(e.at(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	line := e.line()
	if _, err := f.WriteString(line); err != nil {
		return err
	}
	e.alive[line] = name
	return nil
}

func (e *Editor) rename() error { return e.move(e.pick(), e.pick()) }

func (e *Editor) renameDir() error { return e.move(e.directory(), e.directory()) }

// move renames a file or a directory.
func (e *Editor) move(from, to string) error {
	if from == to {
		return nil
	}
	if err := e.parent(to); err != nil {
		return err
	}
	if _, err := os.Lstat(e.at(from)); err != nil {
		return err
	}
	began := time.Now()
	e.destroys(e.at(to))
	err := unix.Rename(e.at(from), e.at(to))
	e.perhaps(began)
	if errors.Is(err, unix.EINVAL) {
		return nil // a directory into itself
	}
	return err
}

func (e *Editor) remove() error {
	path, began := e.at(e.pick()), time.Now()
	e.destroys(path)
	err := unix.Unlink(path)
	e.perhaps(began)
	return err
}

func (e *Editor) mkdir() error { return os.MkdirAll(e.at(e.directory()), 0o755) }

func (e *Editor) removeDir() error { return e.clear(e.directory()) }

// clear removes a tree.
func (e *Editor) clear(dir string) error {
	began := time.Now()
	err := filepath.WalkDir(e.at(dir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			e.destroys(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = os.RemoveAll(e.at(dir))
	e.perhaps(began)
	return err
}

func (e *Editor) toDir() error { return e.instead("n/deep.md") }

func (e *Editor) toFile() error { return e.instead("n") }

// instead makes a file where perhaps something else is.
func (e *Editor) instead(name string) error {
	if err := e.clear("n"); err != nil {
		return err
	}
	return e.put(name)
}
