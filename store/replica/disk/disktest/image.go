package disktest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"memfs/store/replica/disk"
)

// sector is what a disk writes as a whole.
const sector = 512

// Image builds under to what power loss at moment n (see Len) can have left of
// the directory root: everything that a sync covered, of later writes those
// sectors that keep is true for, and of the later changes of each directory's
// names as many as keep lets through before it is first false.
func (r *Recorder) Image(root, to string, n int, keep func() bool) error {
	r.mu.Lock()
	events := r.events[:n:n]
	r.mu.Unlock()
	names := map[string]int{}
	stopped := map[string]bool{}
	contents := map[int][]byte{}
	for i, e := range events {
		switch dir := filepath.Dir(e.path); e.kind {
		case disk.KindMkdir:
			if err := os.MkdirAll(moved(e.path, root, to), 0o700); err != nil {
				return err
			}
		case disk.KindWrite, disk.KindTruncate:
			contents[e.file] = change(contents[e.file], e, synced(events, i, func(s event) bool { return s.file == e.file }), keep)
		case disk.KindCreate, disk.KindRename, disk.KindRemove:
			durable := synced(events, i, func(s event) bool { return s.file == 0 && s.path == dir })
			if stopped[dir] = stopped[dir] || !durable && !keep(); !stopped[dir] {
				rename(names, e)
			}
		}
	}
	for path, file := range names {
		if err := writeSparse(moved(path, root, to), contents[file]); err != nil {
			return err
		}
	}
	return nil
}

// writeSparse leaves the zeros at the end to the filesystem.
func writeSparse(path string, content []byte) error {
	if err := os.WriteFile(path, bytes.TrimRight(content, "\x00"), 0o600); err != nil {
		return err
	}
	return os.Truncate(path, int64(len(content)))
}

// synced reports whether a sync that matches covers event i.
func synced(events []event, i int, match func(event) bool) bool {
	for _, e := range events[i:] {
		if e.kind == disk.KindSync && e.began > i && match(e) {
			return true
		}
	}
	return false
}

func rename(names map[string]int, e event) {
	switch e.kind {
	case disk.KindCreate:
		names[e.path] = e.file
	case disk.KindRename:
		names[e.to] = names[e.path]
		delete(names, e.path)
	case disk.KindRemove:
		delete(names, e.path)
	}
}

// change applies a write or truncation, whole where it is durable.
func change(content []byte, e event, durable bool, keep func() bool) []byte {
	if e.kind == disk.KindTruncate {
		if !durable && !keep() {
			return content
		}
		return append(content, bytes.Repeat([]byte{0}, max(0, int(e.off)-len(content)))...)[:e.off]
	}
	for off, rest := e.off, e.data; len(rest) > 0; {
		n := min(int64(len(rest)), sector-off%sector)
		if durable || keep() {
			if missing := int(off+n) - len(content); missing > 0 {
				content = append(content, make([]byte, missing)...)
			}
			copy(content[off:], rest[:n])
		}
		off, rest = off+n, rest[n:]
	}
	return content
}

func moved(path, root, to string) string { return to + strings.TrimPrefix(path, root) }
