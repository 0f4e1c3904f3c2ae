package reconcile

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

var histories = flag.Int("histories", 2000, "how many random histories TestHistories runs")

// TestHistories runs seeded random histories of a real replica against the fake
// store: local operations, those of somebody else in the store, passes, lost
// answers, faults of every kind, and crashes. Whatever happened, in the end
// mount and store are equal, and every text that was acknowledged and not
// replaced here is in the store's history or in the conflict area.
func TestHistories(t *testing.T) {
	for seed := range uint64(*histories) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			runHistory(t, seed)
		})
	}
}

func runHistory(t *testing.T, seed uint64) {
	withBench(t, func(b *bench) {
		b.put("/a", "first a")
		b.put("/b/x", "first b/x")
		b.put("/c/x/y", "first c/x/y")
		if seed%5 == 0 {
			b.page = 2
		}
		b.still = seed%7 == 0
	}, func(b *bench) {
		h := &hist{bench: b, r: rand.New(rand.NewPCG(seed, 1)), owed: map[string]bool{}}
		for range 40 {
			h.happen()
		}
		b.hook(nil, nil)
		b.skew = 0
		time.Sleep(listEvery)
		for range 4 {
			_, _ = b.rec.Sync(b.Context(), true) // the last one counts
		}
		b.sync()
		require.Equal(t, b.texts(), b.shared())
		h.accounted()
		b.converged()
	})
}

// hist is one history. owed are the texts that were written here and not
// replaced or removed here since.
type hist struct {
	*bench
	r    *rand.Rand
	n    int
	owed map[string]bool
}

// name is one that a memory may have; a few are local only where the store has
// nothing of that name (R17).
func (h *hist) name() string {
	if h.r.IntN(6) == 0 {
		return []string{"/b~", "/a/x~", "/c/.git/x", "/c/.git"}[h.r.IntN(4)]
	}
	return names[h.r.IntN(len(names))]
}

func (h *hist) text() string {
	h.n++
	return fmt.Sprintf("text %d of mine", h.n)
}

func (h *hist) happen() {
	time.Sleep(time.Duration(h.r.IntN(4000)) * time.Millisecond)
	switch h.r.IntN(12) {
	case 0, 1, 2:
		h.localWrite(h.name())
	case 3:
		h.localRename(h.name(), h.name())
	case 4:
		h.localUnlink(h.name())
	case 5, 6, 7:
		h.remote()
	case 8:
		h.faults()
	case 9, 10:
		_, _ = h.rec.Pass(h.Context(), PassOptions{Everything: h.r.IntN(2) == 0, AllowDeletes: true})
	case 11:
		if h.r.IntN(3) == 0 {
			h.hook(nil, nil)
			h.restart()
		}
	}
}

// The local operations do what the kernel would let a program do; what a remote
// change has taken away meanwhile is in the history or the conflict area.

func (h *hist) localWrite(p string) {
	parent, ok := h.parent(p)
	if !ok {
		return
	}
	attr, err := h.rep.Lookup(parent, p[strings.LastIndexByte(p, '/')+1:])
	if err == nil {
		h.rep.Forget(attr.Ino, 1)
		if attr.Dir {
			return
		}
	}
	h.release(p)
	text := h.text()
	h.write(p, text)
	h.owed[text] = true
}

func (h *hist) localUnlink(p string) {
	attr, err := h.lookup(p)
	if err != nil || attr.Dir {
		return
	}
	h.release(p)
	h.rm(p)
}

func (h *hist) localRename(from, to string) {
	attr, err := h.lookup(from)
	if err != nil || from == to || touches(from, to) {
		return
	}
	parent, ok := h.parent(to)
	if !ok {
		return
	}
	target, err := h.lookup(to)
	if err == nil && (target.Dir || attr.Dir) {
		return
	}
	h.release(to)
	fromDir, _ := h.parent(from)
	err = h.rep.Rename(fromDir, from[strings.LastIndexByte(from, '/')+1:], parent, to[strings.LastIndexByte(to, '/')+1:], false)
	require.NoError(h, err)
}

// release says that the text at a path is about to be replaced here: nobody is
// owed it any more.
func (h *hist) release(p string) {
	if attr, err := h.lookup(p); err == nil && !attr.Dir {
		buf := make([]byte, attr.Size)
		if n, err := h.rep.Read(h.Context(), attr.Ino, buf, 0); err == nil {
			delete(h.owed, string(buf[:n]))
		}
	}
}

// parent is the directory of a path, made where it is missing; false where a
// file is in the way.
func (h *hist) parent(p string) (replica.Ino, bool) {
	for _, dir := range slices.Backward(above(p)) {
		attr, err := h.lookup(dir)
		if err == nil && !attr.Dir {
			return 0, false
		}
	}
	return h.dirOf(p), true
}

// remote is one change by somebody else, under one lock: beside it a pass may
// be deleting the very memory that was picked.
func (h *hist) remote() {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := slices.Sorted(maps.Keys(h.memories))
	h.n++
	text, p := fmt.Sprintf("text %d of theirs", h.n), h.name()
	id := ""
	if len(ids) > 0 {
		id = ids[h.r.IntN(len(ids))]
	}
	m := h.memories[id]
	switch h.r.IntN(4) {
	case 0:
		if h.admit("", p, nil) == nil {
			h.fake.write(store.Memory{}, p, []byte(text), store.Created)
		}
	case 1:
		if id != "" {
			h.fake.write(m, m.Path, []byte(text), store.Modified)
		}
	case 2:
		if id != "" && h.admit(id, p, nil) == nil {
			h.fake.write(m, p, m.Content, store.Modified)
		}
	case 3:
		if id != "" {
			h.remove(id)
		}
	}
}

// faults sets what goes wrong from now on, often nothing.
func (h *hist) faults() {
	errs := []error{errNoAnswer, &store.UnavailableError{Status: 503}, &store.RateLimitedError{After: time.Second},
		store.ErrConflict, store.ErrUnauthorized, store.ErrProtocol, store.ErrPrecondition, &store.PathConflictError{}}
	err := errs[h.r.IntN(len(errs))]
	prefix := []string{"", "create", "update", "delete", "get", "versions", "list"}[h.r.IntN(7)]
	fail := once(prefix, err)
	switch h.r.IntN(4) {
	case 0:
		h.hook(nil, nil)
	case 1:
		h.hook(fail, nil)
	case 2:
		h.hook(nil, once(prefix, errNoAnswer))
	case 3: // somebody is faster
		var raced atomic.Bool
		h.hook(func(call string) error {
			if len(changes([]string{call})) == 1 && raced.CompareAndSwap(false, true) {
				h.remote()
			}
			return nil
		}, nil)
	}
}

// accounted checks that no text is lost (R20).
func (h *hist) accounted() {
	have := append(h.losers(), slices.Collect(maps.Values(h.tree()))...) // scratch is nowhere else
	for _, v := range h.versions {
		have = append(have, string(v.Content))
	}
	for text := range h.owed {
		require.Contains(h, have, text)
	}
}
