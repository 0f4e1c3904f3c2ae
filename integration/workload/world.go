//go:build linux

package workload

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// World is what a directory holds: the text of every file, and "" for every
// directory, whose name ends with a slash.
type World map[string]string

// Put returns the world with one more file or directory.
func (w World) Put(name, text string) World {
	out := maps.Clone(w)
	out[name] = text
	return out
}

// Drop returns the world without a name and all below it.
func (w World) Drop(name string) World {
	out := World{}
	for at, text := range w {
		if at != name && !(strings.HasSuffix(name, "/") && strings.HasPrefix(at, name)) {
			out[at] = text
		}
	}
	return out
}

// Move returns the world with a file or directory under another name.
func (w World) Move(from, to string) World {
	out := w.Drop(to)
	for at, text := range w {
		switch {
		case at == from:
			delete(out, at)
			out[to] = text
		case strings.HasSuffix(from, "/") && strings.HasPrefix(at, from):
			delete(out, at)
			out[to+at[len(from):]] = text
		}
	}
	return out
}

// Sent returns what of the world a store has: files that are not local only,
// and the directories that they need.
func (w World) Sent() World {
	out := World{}
	for name, text := range w {
		if strings.HasSuffix(name, "/") || strings.HasSuffix(name, "~") {
			continue
		}
		out[name] = text
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			out[dir+"/"] = ""
		}
	}
	return out
}

// without reports whether other is the world without some of what is in a
// directory.
func (w World) without(dir string, other World) bool {
	for name, text := range other {
		if was, there := w[name]; !there || was != text {
			return false
		}
	}
	for name := range w {
		if _, there := other[name]; !there && !strings.HasPrefix(name, dir) {
			return false
		}
	}
	return true
}

// backupSuffix ends the name of a file that is being saved, until it is.
const backupSuffix = ".saving~"

// unfinished are the names of files that tools make and rename.
var unfinished = regexp.MustCompile(`(^|/)sed[A-Za-z0-9]{6}$|\Q` + backupSuffix + `\E$`)

// Clean reads a directory. What a killed tool left goes.
func Clean(root string) (World, error) { return read(root, os.Remove) }

// Look reads a directory, but for what tools are at.
func Look(root string) (World, error) { return read(root, func(string) error { return nil }) }

func read(root string, unwanted func(string) error) (World, error) {
	w := World{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		name := at[len(root)+1:]
		switch {
		case d.IsDir():
			w[name+"/"] = ""
		case unfinished.MatchString(name):
			return unwanted(at)
		default:
			text, err := os.ReadFile(at)
			w[name] = string(text)
			return err
		}
		return nil
	})
	return w, err
}
