//go:build linux

package workload

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"memfs/store"
)

// Worker changes one directory of the mount, alone, by system calls and by
// ordinary tools. One goroutine uses it.
type Worker struct {
	// Dir is the directory, which exists.
	Dir string

	rng *rand.Rand
	n   int // of the texts made

	mu sync.Mutex
	// worlds are what may be there now: one while nothing goes on, with an
	// operation under way all that it may be cut off at.
	worlds []World
	op     op
	// again is a file whose last write failed: the next one saves it anew, as
	// memfs holds it back until then. emptied is what it held before, which may
	// come back (R16).
	again   string
	emptied []string
	// texts are the hashes of all contents that ever were.
	texts map[store.SHA]bool
}

// op is one operation: the worlds it goes through, the last one being its end.
type op struct {
	name   string
	worlds []World
	run    func() error
	// torn are writes that may be cut off in their middle.
	torn []torn
	// gone is a directory of which anything may have been removed; "" is none.
	gone string
	// file is what it writes to; "" is nothing.
	file string
}

// torn is one file of a world that a cut-off write may have left: the kernel
// splits a write into requests as it likes, so as long as it has not returned
// any part of it may be there, from its beginning.
type torn struct {
	name, old, text string
	at              int // where in old the text goes
}

// NewWorker makes a worker of an empty directory. The same seed makes the same
// choices, as far as the mount lets it.
func NewWorker(dir string, seed uint64) *Worker {
	return &Worker{Dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), worlds: []World{{}}, texts: map[store.SHA]bool{store.Hash(nil): true}}
}

// left reports whether the write, cut off somewhere, leaves this.
func (c torn) left(found string) bool {
	for n := range len(c.text) + 1 {
		end := c.at + n
		if len(found) == max(end, len(c.old)) && found[:c.at] == c.old[:c.at] && found[c.at:end] == c.text[:n] &&
			found[end:] == c.old[min(end, len(c.old)):] {
			return true
		}
	}
	return false
}

// may reports whether this may be there. w.mu is held.
func (w *Worker) may(found World) bool {
	if w.worlds[0][w.again] == "" && slices.Contains(w.emptied, found[w.again]) && w.mayExactly(found.Put(w.again, "")) {
		return true
	}
	return w.mayExactly(found)
}

func (w *Worker) mayExactly(found World) bool {
	for _, world := range w.worlds {
		if maps.Equal(world, found) {
			return true
		}
		for _, c := range w.op.torn {
			if maps.Equal(world.Drop(c.name), found.Drop(c.name)) && c.left(found[c.name]) {
				return true
			}
		}
	}
	return w.op.gone != "" && w.worlds[0].without(w.op.gone, found)
}

// Now is what is there while nothing goes on, and otherwise what will be there.
func (w *Worker) Now() World { return w.worlds[len(w.worlds)-1] }

// Texts are the hashes of all contents that there ever were, the beginnings of
// those that were written in pieces aside.
func (w *Worker) Texts() map[store.SHA]bool { return w.texts }

// Written is about how many texts were written.
func (w *Worker) Written() int { return w.n }

// Step does one operation. An error means that it may have been cut off
// anywhere; Settle must follow.
func (w *Worker) Step() error {
	o := w.choose()
	w.mu.Lock()
	w.op = o
	w.worlds = append(w.worlds[len(w.worlds)-1:], o.worlds...)
	for _, world := range o.worlds {
		w.know(world)
	}
	w.mu.Unlock()
	if err := o.run(); err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worlds, w.op = w.worlds[len(w.worlds)-1:], op{}
	w.again, w.emptied = "", nil
	return nil
}

func (w *Worker) know(world World) {
	for _, text := range world {
		w.texts[store.Hash([]byte(text))] = true
	}
}

// Settle goes on from what was found after an operation was cut off. It is an
// error if that cannot be so.
func (w *Worker) Settle(found World) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.may(found) {
		return fmt.Errorf("%s after %q is none of:\n%sbut\n%s", w.Dir, w.op.name, Describe(w.worlds...), Describe(found))
	}
	w.settle(found)
	return nil
}

// SettleSent is Settle after memfs ended properly, or where another process has
// sent what was left: what is local only may be gone (R17).
func (w *Worker) SettleSent(found World) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.may(found) {
		w.settle(found)
		return nil
	}
	for i, world := range w.worlds {
		w.worlds[i] = world.Sent()
	}
	if !w.may(found.Sent()) {
		return fmt.Errorf("%s after %q and an end is none of:\n%sbut\n%s", w.Dir, w.op.name, Describe(w.worlds...), Describe(found))
	}
	w.settle(found)
	return nil
}

func (w *Worker) settle(found World) {
	if w.op.file != "" {
		w.again = w.op.file
		if text := w.worlds[0][w.again]; text != "" {
			w.emptied = append(w.emptied, text)
		}
	}
	w.know(found)
	w.worlds, w.op = []World{found}, op{}
}

// Check compares what is there with what must be while nothing goes on.
func (w *Worker) Check() error {
	found, err := Look(w.Dir)
	if err != nil {
		return err
	}
	if !maps.Equal(found, w.Now()) {
		return fmt.Errorf("%w: %s is\n%sand not\n%s", ErrWrong, w.Dir, Describe(found), Describe(w.Now()))
	}
	return nil
}

// ErrWrong: a directory does not hold what was acknowledged.
var ErrWrong = errors.New("not what was acknowledged")

// Describe shows worlds, one a line.
func Describe(worlds ...World) string {
	var b strings.Builder
	for _, w := range worlds {
		b.WriteString("{")
		for _, name := range slices.Sorted(maps.Keys(w)) {
			text := w[name]
			fmt.Fprintf(&b, " %s:%d:%.40q", name, len(text), text)
		}
		b.WriteString(" }\n")
	}
	return b.String()
}

func (w *Worker) text() string {
	w.n++
	size := w.rng.IntN(300)
	if w.rng.IntN(10) == 0 {
		size = w.rng.IntN(60_000)
	}
	return fmt.Sprintf("%s %d\n%s\n", filepath.Base(w.Dir), w.n, strings.Repeat("x", size))
}

func (w *Worker) at(name string) string { return filepath.Join(w.Dir, name) }

// files are the present files, dirs the present directories.
func (w *Worker) files() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.Now())), func(n string) bool { return strings.HasSuffix(n, "/") })
}

func (w *Worker) dirs() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.Now())), func(n string) bool { return !strings.HasSuffix(n, "/") })
}

// name is a file's name, taken or not, in a directory that is there.
func (w *Worker) name() string {
	dirs := append(w.dirs(), "", "")
	return pick(w.rng, dirs) + pick(w.rng, []string{"a.md", "b.md", "c.md", "d.md"})
}

// any is a file's name too, perhaps of one that is local only. A memory that
// is renamed to such a name may stay one (R17), so none is.
func (w *Worker) any() string {
	if w.rng.IntN(6) == 0 {
		return "draft~"
	}
	return w.name()
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (w *Worker) has(name string) bool { _, there := w.Now()[name]; return there }

func (w *Worker) choose() op {
	if w.again != "" {
		return w.save(w.again)
	}
	files := w.files()
	if len(files) < 2 {
		return w.save(w.name())
	}
	name := pick(w.rng, files)
	switch w.rng.IntN(20) {
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
		return w.unlink(name)
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
	case 13:
		return w.redirect(w.name())
	case 14:
		return w.python(name)
	case 15:
		return w.backup(name)
	case 16:
		return w.grep()
	case 17:
		return w.rm()
	case 18:
		return w.tooLarge(w.name())
	default:
		return w.sed(name)
	}
}
