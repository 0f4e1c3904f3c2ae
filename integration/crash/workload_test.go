//go:build linux

package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"memfs/store"
)

// worker changes one directory of the mount, alone, by system calls and by
// ordinary tools.
type worker struct {
	dir string // in the mount
	rng *rand.Rand
	n   int // of the texts made

	mu sync.Mutex
	// worlds are what a kill may leave now: one while nothing goes on, with an
	// operation under way all that it may be cut off at.
	worlds []world
	torn   *torn
	doing  string
	// texts are the hashes of all contents that ever were.
	texts map[store.SHA]bool
}

// op is one operation: the worlds it goes through, the last one being its end.
type op struct {
	name   string
	worlds []world
	run    func() error
	// torn is a write that may be cut off in its middle; nil if there is none.
	torn *torn
}

// torn is one file of a world that a cut-off write may have left: the kernel
// splits a write into requests as it likes, so as long as it has not returned
// any part of it may be there, from its beginning.
type torn struct {
	name, old, text string
	at              int // where in old the text goes
}

// left reports whether the write, cut off somewhere, leaves this.
func (c *torn) left(found string) bool {
	for n := range len(c.text) + 1 {
		end := c.at + n
		if len(found) == max(end, len(c.old)) && found[:c.at] == c.old[:c.at] && found[c.at:end] == c.text[:n] &&
			found[end:] == c.old[min(end, len(c.old)):] {
			return true
		}
	}
	return false
}

// may reports whether a kill may have left this world.
func (w *worker) may(found world) bool {
	for _, world := range w.worlds {
		if maps.Equal(world, found) {
			return true
		}
		if c := w.torn; c != nil && maps.Equal(world.drop(c.name), found.drop(c.name)) && c.left(found[c.name]) {
			return true
		}
	}
	return false
}

func (w *worker) now() world { return w.worlds[len(w.worlds)-1] }

// step does one operation. An error means that it may have been cut off
// anywhere.
func (w *worker) step() error {
	o := w.choose()
	w.mu.Lock()
	w.doing, w.torn = o.name, o.torn
	w.worlds = append(w.worlds[len(w.worlds)-1:], o.worlds...)
	for _, world := range o.worlds {
		for _, text := range world {
			w.texts[store.Hash([]byte(text))] = true
		}
	}
	w.mu.Unlock()
	if err := o.run(); err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worlds, w.doing, w.torn = w.worlds[len(w.worlds)-1:], "", nil
	return nil
}

func (w *worker) text() string {
	w.n++
	size := w.rng.IntN(300)
	if w.rng.IntN(10) == 0 {
		size = w.rng.IntN(60_000)
	}
	return fmt.Sprintf("%s %d\n%s\n", filepath.Base(w.dir), w.n, strings.Repeat("x", size))
}

func (w *worker) at(name string) string { return filepath.Join(w.dir, name) }

// files are the present files, dirs the present directories.
func (w *worker) files() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.now())), func(n string) bool { return strings.HasSuffix(n, "/") })
}

func (w *worker) dirs() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.now())), func(n string) bool { return !strings.HasSuffix(n, "/") })
}

// name is a file's name, taken or not, in a directory that is there.
func (w *worker) name() string {
	dirs := append(w.dirs(), "", "")
	return pick(w.rng, dirs) + pick(w.rng, []string{"a.md", "b.md", "c.md", "d.md"})
}

// any is a file's name too, perhaps of one that is local only. A memory that
// is renamed to such a name may stay one (R17), so none is.
func (w *worker) any() string {
	if w.rng.IntN(6) == 0 {
		return "draft~"
	}
	return w.name()
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (w *worker) choose() op {
	files := w.files()
	if len(files) < 2 {
		return w.save(w.name())
	}
	name := pick(w.rng, files)
	switch w.rng.IntN(14) {
	case 0, 1:
		return w.save(w.any())
	case 2:
		return w.replace(w.name())
	case 3:
		return w.append(name)
	case 4:
		return w.patch(name)
	case 5:
		return w.cut(name)
	case 6:
		return op{"unlink " + name, []world{w.now().drop(name)}, func() error { return os.Remove(w.at(name)) }, nil}
	case 7:
		return w.rename(name, w.name(), false)
	case 8:
		return w.rename(name, w.name(), true)
	case 9:
		return w.mkdir()
	case 10:
		return w.renameDir()
	case 11:
		return w.rmdir()
	case 12:
		return w.copy(name, w.name())
	default:
		return w.sed(name)
	}
}

// save opens, truncates, writes in pieces, perhaps syncs, and closes. Emptied
// and not written yet, the text before stands (R16).
func (w *worker) save(name string) op {
	text := w.text()
	half := len(text) / 2
	sync := w.rng.IntN(3) == 0
	worlds := []world{w.now().put(name, text[:half]), w.now().put(name, text)}
	if _, there := w.now()[name]; !there {
		worlds = append([]world{w.now().put(name, "")}, worlds...)
	}
	return op{"save " + name, worlds, func() error {
		f, err := os.OpenFile(w.at(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err = f.WriteString(text[:half]); err == nil {
			_, err = f.WriteString(text[half:])
		}
		if err == nil && sync {
			err = f.Sync()
		}
		return err
	}, &torn{name: name, text: text}}
}

// replace saves through a temporary file.
func (w *worker) replace(name string) op {
	text, temp := w.text(), name+".new"
	if w.has(temp) {
		return w.save(temp)
	}
	begun := w.now().put(temp, "")
	done := w.now().put(temp, text)
	return op{"replace " + name, []world{begun, done, done.move(temp, name)}, func() error {
		f, err := os.OpenFile(w.at(temp), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err = f.WriteString(text); err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = os.Rename(w.at(temp), w.at(name))
		}
		return err
	}, &torn{name: temp, text: text}}
}

func (w *worker) append(name string) op {
	text := w.text()
	if len(w.now()[name])+len(text) > store.MaxContent {
		return w.save(name)
	}
	return op{"append " + name, []world{w.now().put(name, w.now()[name]+text)}, func() error {
		f, err := os.OpenFile(w.at(name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(text)
		return err
	}, &torn{name: name, old: w.now()[name], text: text, at: len(w.now()[name])}}
}

// patch overwrites some bytes in the middle.
func (w *worker) patch(name string) op {
	old := w.now()[name]
	mark := fmt.Sprintf("<%s %d>", filepath.Base(w.dir), w.n)
	w.n++
	if len(old) < len(mark) {
		return w.save(name)
	}
	at := w.rng.IntN(len(old) - len(mark) + 1)
	return op{"patch " + name, []world{w.now().put(name, old[:at]+mark+old[at+len(mark):])}, func() error {
		f, err := os.OpenFile(w.at(name), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte(mark), int64(at))
		return err
	}, &torn{name: name, old: old, text: mark, at: at}}
}

// cut truncates to some bytes, or to none with a sync, which means it.
func (w *worker) cut(name string) op {
	old := w.now()[name]
	if len(old) < 2 {
		return w.save(name)
	}
	size := w.rng.IntN(len(old))
	return op{fmt.Sprintf("truncate %s to %d", name, size), []world{w.now().put(name, old[:size])}, func() error {
		if size > 0 {
			return os.Truncate(w.at(name), int64(size))
		}
		f, err := os.OpenFile(w.at(name), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	}, nil}
}

func (w *worker) rename(from, to string, tool bool) op {
	if from == to {
		return w.save(from)
	}
	run := func() error { return os.Rename(w.at(from), w.at(to)) }
	if tool {
		run = func() error { return w.tool("mv", "-f", w.at(from), w.at(to)) }
	}
	return op{"rename " + from + " to " + to, []world{w.now().move(from, to)}, run, nil}
}

func (w *worker) mkdir() op {
	name := fmt.Sprintf("%sd%d/", pick(w.rng, append(w.dirs(), "")), w.rng.IntN(3))
	if _, there := w.now()[name]; there || strings.Count(name, "/") > 3 {
		return w.save(w.name())
	}
	return op{"mkdir " + name, []world{w.now().put(name, "")}, func() error { return os.Mkdir(w.at(name), 0o700) }, nil}
}

func (w *worker) renameDir() op {
	dirs := w.dirs()
	to := fmt.Sprintf("d%d/", w.rng.IntN(6))
	if len(dirs) == 0 || w.has(to) || strings.HasPrefix(to, dirs[0]) {
		return w.save(w.name())
	}
	from := pick(w.rng, dirs)
	return op{"rename " + from + " to " + to, []world{w.now().move(from, to)}, func() error { return os.Rename(w.at(from), w.at(to)) }, nil}
}

func (w *worker) has(name string) bool { _, there := w.now()[name]; return there }

// rmdir removes a directory with what is in it.
func (w *worker) rmdir() op {
	dirs := w.dirs()
	if len(dirs) == 0 {
		return w.mkdir()
	}
	dir := pick(w.rng, dirs)
	var worlds []world
	now := w.now()
	var names []string
	for name := range now {
		if strings.HasPrefix(name, dir) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Reverse(names) // what is in a directory before the directory
	for _, name := range names {
		now = now.drop(name)
		worlds = append(worlds, now)
	}
	return op{"rmdir " + dir, worlds, func() error {
		for _, name := range names {
			if err := os.Remove(w.at(name)); err != nil {
				return err
			}
		}
		return nil
	}, nil}
}

// copy is cp, which writes in place.
func (w *worker) copy(from, to string) op {
	text := w.now()[from]
	if from == to || text == "" {
		return w.save(from)
	}
	worlds := []world{w.now().put(to, text)}
	if !w.has(to) {
		worlds = append([]world{w.now().put(to, "")}, worlds...)
	}
	return op{"cp " + from + " " + to, worlds, func() error { return w.tool("cp", w.at(from), w.at(to)) }, &torn{name: to, text: text}}
}

// sed is sed -i: a temporary file and a rename.
func (w *worker) sed(name string) op {
	w.n++
	mark := fmt.Sprintf("sed %d", w.n)
	old := w.now()[name]
	if !strings.HasSuffix(old, "\n") || strings.Contains(old, "\x00") {
		return w.save(name)
	}
	return op{"sed " + name, []world{w.now().put(name, mark+"\n"+old)}, func() error { return w.tool("sed", "-i", "1i"+mark, w.at(name)) }, nil}
}

func (w *worker) tool(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
