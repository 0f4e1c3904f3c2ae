//go:build linux

package crash

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// world is what a directory holds: the text of every file, and "" for every
// directory, whose name ends with a slash.
type world map[string]string

// put returns the world with one more file or directory.
func (w world) put(name, text string) world {
	out := maps.Clone(w)
	out[name] = text
	return out
}

// drop returns the world without a name and all below it.
func (w world) drop(name string) world {
	out := world{}
	for at, text := range w {
		if at != name && !(strings.HasSuffix(name, "/") && strings.HasPrefix(at, name)) {
			out[at] = text
		}
	}
	return out
}

// move returns the world with a file or directory under another name.
func (w world) move(from, to string) world {
	out := w.drop(to)
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

// sent returns what of the world a store has: files that are not local only,
// and the directories that they need.
func (w world) sent() world {
	out := world{}
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

// unfinished are the names of files that tools make and rename.
var unfinished = regexp.MustCompile(`(^|/)sed[A-Za-z0-9]{6}$`)

// look reads a directory. What a killed tool left goes.
func look(root string) (world, error) {
	w := world{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		name := at[len(root)+1:]
		switch {
		case d.IsDir():
			w[name+"/"] = ""
		case unfinished.MatchString(name):
			return os.Remove(at)
		default:
			text, err := os.ReadFile(at)
			w[name] = string(text)
			return err
		}
		return nil
	})
	return w, err
}
