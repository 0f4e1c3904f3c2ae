package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"memfs/store/replica"
)

// names is a small alphabet, so that histories collide: files and directories
// of the same names, and paths that overlap.
var names = []string{"/a", "/b", "/c", "/a/x", "/a/y", "/b/x", "/c/x/y", "/a/x/z"}

// TestPropertyHistories runs random histories of local and remote operations,
// passes, lost answers and refusals. The model checks the invariants of every
// plan and of every step (model_test.go); at the end mount and store are equal
// and nothing is left to do.
func TestPropertyHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { history(rt, rapidSource{rt}) })
}

// FuzzHistories drives the same histories from the fuzzer's bytes.
func FuzzHistories(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00\x01\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { history(t, &byteSource{data: data}) })
}

// source gives the choices of a history.
type source interface {
	pick(what string, n int) int
	more() bool
}

type rapidSource struct{ *rapid.T }

func (s rapidSource) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(s.T, what) }
func (s rapidSource) more() bool                  { return rapid.IntRange(0, 39).Draw(s.T, "go on") > 0 }

type byteSource struct{ data []byte }

func (s *byteSource) pick(_ string, n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

func (s *byteSource) more() bool { return len(s.data) > 0 }

func history(t require.TestingT, from source) {
	w := newWorld(t)
	for i, p := range []string{"/a", "/b/x", "/c/x/y"} {
		w.agree(fmt.Sprintf("m%d", i), p, fmt.Sprintf("first %d", i))
	}
	for range 60 {
		if !from.more() {
			break
		}
		w.now = w.now.Add(time.Duration(from.pick("seconds", 20)) * time.Second)
		happen(w, from)
	}
	w.now = w.now.Add(time.Hour)
	w.policy.Everything = true
	w.run()
	w.run()
	w.requireSettled()
}

func happen(w *world, from source) {
	name := func() string { return names[from.pick("name", len(names))] }
	switch from.pick("what", 10) {
	case 0, 1:
		if p := name(); w.writable(p) {
			w.write(p, w.text(from))
		}
	case 2, 3:
		w.renameTree(name(), name())
	case 4:
		if p := name(); w.fileAt(p) != nil {
			w.unlink(p)
		}
	case 5:
		if p := name(); w.roomRemote("", p) {
			w.putRemote(fmt.Sprintf("r%d", w.next()), p, w.text(from))
		}
	case 6:
		if id := w.someMemory(from); id != "" {
			w.putRemote(id, w.store[id].Path, w.text(from))
		}
	case 7:
		if id, p := w.someMemory(from), name(); id != "" && w.roomRemote(id, p) {
			w.putRemote(id, p, w.texts[w.store[id].SHA])
		}
	case 8:
		if id := w.someMemory(from); id != "" {
			delete(w.store, id)
		}
	case 9:
		w.policy.Everything = from.pick("everything", 2) == 1
		w.policy.AllowDeletes = from.pick("allow", 2) == 1
		w.carryOut(w.plan(), func(Action) fate { return fate(from.pick("fate", 6) % 4) })
	}
}

// text is new, or one that was there before, so that both sides may write the same.
func (w *world) text(from source) string {
	if k := from.pick("text", 8); k < 4 {
		return []string{"", "same", "first 0", "first 1"}[k]
	}
	return fmt.Sprintf("text %d", w.next())
}

// writable reports whether a file may stand at a path of the mount.
func (w *world) writable(p string) bool {
	for _, f := range w.files {
		if f.Path != p && touches(f.Path, p) {
			return false
		}
	}
	return true
}

// renameTree renames a file or a directory, as far as a kernel would.
func (w *world) renameTree(from, to string) {
	if from == to || strings.HasPrefix(to, from+"/") || strings.HasPrefix(from, to+"/") {
		return
	}
	if w.fileAt(from) != nil {
		if w.writable(to) {
			w.rename(from, to)
		}
		return
	}
	var moved []replica.Ino
	for _, f := range w.files {
		if strings.HasPrefix(f.Path, from+"/") {
			moved = append(moved, f.Ino)
		}
		if touches(f.Path, to) {
			return
		}
	}
	slices.Sort(moved)
	for _, ino := range moved {
		f := w.files[ino]
		w.rename(f.Path, to+strings.TrimPrefix(f.Path, from))
	}
}

// roomRemote reports whether the store would let memory id stand at a path.
func (w *world) roomRemote(id, p string) bool {
	for other, m := range w.store {
		if other != id && touches(m.Path, p) {
			return false
		}
	}
	return true
}

func (w *world) someMemory(from source) string {
	var ids []string
	for id := range w.store {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return ""
	}
	return ids[from.pick("memory", len(ids))]
}
