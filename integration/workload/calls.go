//go:build linux

package workload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"memfs/store"
)

// save opens, truncates, writes in pieces, perhaps syncs, and closes. Emptied
// and not written yet, the text before stands (R16).
func (w *Worker) save(name string) op {
	text := w.text()
	half := len(text) / 2
	sync := w.rng.IntN(3) == 0
	worlds := []World{w.Now().Put(name, text[:half]), w.Now().Put(name, text)}
	if _, there := w.Now()[name]; !there {
		worlds = append([]World{w.Now().Put(name, "")}, worlds...)
	}
	return op{name: "save " + name, worlds: worlds, file: name, torn: []torn{{name: name, text: text}}, run: func() error {
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
	}}
}

// replace saves through a temporary file.
func (w *Worker) replace(name string) op {
	text, temp := w.text(), name+".new"
	if w.has(temp) {
		return w.save(temp)
	}
	begun := w.Now().Put(temp, "")
	done := w.Now().Put(temp, text)
	return op{name: "replace " + name, worlds: []World{begun, done, done.Move(temp, name)}, file: temp, torn: []torn{{name: temp, text: text}}, run: func() error {
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
	}}
}

func (w *Worker) append(name string) op {
	text := w.text()
	if len(w.Now()[name])+len(text) > store.MaxContent {
		return w.save(name)
	}
	return op{name: "append " + name, worlds: []World{w.Now().Put(name, w.Now()[name]+text)}, file: name, torn: w.appended(name, text), run: func() error {
		f, err := os.OpenFile(w.at(name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(text)
		return err
	}}
}

// patch overwrites some bytes in the middle.
func (w *Worker) patch(name string) op {
	old := w.Now()[name]
	mark := fmt.Sprintf("<%s %d>", filepath.Base(w.Dir), w.n)
	w.n++
	if len(old) < len(mark) {
		return w.save(name)
	}
	at := w.rng.IntN(len(old) - len(mark) + 1)
	world := w.Now().Put(name, old[:at]+mark+old[at+len(mark):])
	return op{name: "patch " + name, worlds: []World{world}, file: name, torn: []torn{{name: name, old: old, text: mark, at: at}}, run: func() error {
		f, err := os.OpenFile(w.at(name), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte(mark), int64(at))
		return err
	}}
}

// cut truncates to some bytes, or to none with a sync, which means it.
func (w *Worker) cut(name string) op {
	old := w.Now()[name]
	if len(old) < 2 {
		return w.save(name)
	}
	size := w.rng.IntN(len(old))
	return op{name: fmt.Sprintf("truncate %s to %d", name, size), worlds: []World{w.Now().Put(name, old[:size])}, file: name, run: func() error {
		if size > 0 {
			return os.Truncate(w.at(name), int64(size))
		}
		f, err := os.OpenFile(w.at(name), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	}}
}

func (w *Worker) rename(from, to string, tool bool) op {
	if from == to {
		return w.save(from)
	}
	run := func() error { return os.Rename(w.at(from), w.at(to)) }
	if tool {
		run = func() error { return w.tool("mv", "-f", w.at(from), w.at(to)) }
	}
	return op{name: "rename " + from + " to " + to, worlds: []World{w.Now().Move(from, to)}, run: run}
}

func (w *Worker) mkdir() op {
	name := fmt.Sprintf("%sd%d/", pick(w.rng, append(w.dirs(), "")), w.rng.IntN(3))
	if _, there := w.Now()[name]; there || strings.Count(name, "/") > 3 {
		return w.save(w.name())
	}
	return op{name: "mkdir " + name, worlds: []World{w.Now().Put(name, "")}, run: func() error { return os.Mkdir(w.at(name), 0o700) }}
}

func (w *Worker) renameDir() op {
	dirs := w.dirs()
	to := fmt.Sprintf("d%d/", w.rng.IntN(6))
	if len(dirs) == 0 || w.has(to) || strings.HasPrefix(to, dirs[0]) {
		return w.save(w.name())
	}
	from := pick(w.rng, dirs)
	return op{name: "rename " + from + " to " + to, worlds: []World{w.Now().Move(from, to)}, run: func() error { return os.Rename(w.at(from), w.at(to)) }}
}

// rmdir removes a directory with what is in it.
func (w *Worker) rmdir() op {
	dirs := w.dirs()
	if len(dirs) == 0 {
		return w.mkdir()
	}
	dir := pick(w.rng, dirs)
	var worlds []World
	now := w.Now()
	var names []string
	for name := range now {
		if strings.HasPrefix(name, dir) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Reverse(names) // what is in a directory before the directory
	for _, name := range names {
		now = now.Drop(name)
		worlds = append(worlds, now)
	}
	return op{name: "rmdir " + dir, worlds: worlds, run: func() error {
		for _, name := range names {
			if err := os.Remove(w.at(name)); err != nil {
				return err
			}
		}
		return nil
	}}
}

// appended is a write to the end of a file.
func (w *Worker) appended(name, text string) []torn {
	old := w.Now()[name]
	return []torn{{name: name, old: old, text: text, at: len(old)}}
}

func (w *Worker) unlink(name string) op {
	return op{name: "unlink " + name, worlds: []World{w.Now().Drop(name)}, run: func() error { return os.Remove(w.at(name)) }}
}

// backup saves as vim does where it may not write in place: the old file goes to
// a backup, the new one is made under the old name, and the backup is removed.
func (w *Worker) backup(name string) op {
	text, old := w.text(), name+backupSuffix
	if strings.HasSuffix(name, "~") || w.has(old) {
		return w.save(name)
	}
	moved := w.Now().Move(name, old)
	worlds := []World{moved, moved.Put(name, ""), moved.Put(name, text), w.Now().Put(name, text)}
	return op{name: "save " + name + " with a backup", worlds: worlds, file: name, torn: []torn{{name: name, text: text}}, run: func() error {
		err := os.Rename(w.at(name), w.at(old))
		if err == nil {
			err = os.WriteFile(w.at(name), []byte(text), 0o600)
		}
		if err == nil {
			err = os.Remove(w.at(old))
		}
		return err
	}}
}

// tooLarge writes more than a memory can hold, is told so, and saves what fits
// (R11).
func (w *Worker) tooLarge(name string) op {
	if w.has(name) {
		return w.save(name)
	}
	long, text := strings.Repeat("x", store.MaxContent+1), w.text()
	worlds := []World{w.Now().Put(name, ""), w.Now().Put(name, text)}
	return op{name: "save too much to " + name, worlds: worlds, file: name, torn: []torn{{name: name, text: long}, {name: name, text: text}}, run: func() error {
		switch err := os.WriteFile(w.at(name), []byte(long), 0o600); {
		case err == nil:
			return fmt.Errorf("%w: %s took %d bytes", ErrWrong, name, len(long))
		case !errors.Is(err, unix.EFBIG):
			return err
		}
		return os.WriteFile(w.at(name), []byte(text), 0o600)
	}}
}
