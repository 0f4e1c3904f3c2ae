package reconcile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestR1_TheFirstListingSuitsTheTree(t *testing.T) {
	for _, shape := range []struct {
		name     string
		memories int
		path     func(i int) string
		// most is how many requests it may take, rounds how many of them one
		// after the other: of the whole store or below one directory.
		most, rounds int
	}{
		{"small", 100, func(i int) string { return fmt.Sprintf("/%02d/f", i) }, 2, 1},
		{"flat", 1000, func(i int) string { return fmt.Sprintf("/%04d", i) }, 1 + 10, 10},
		{"directories", 1000, func(i int) string { return fmt.Sprintf("/%02d/%d", i%50, i) }, 2 + 50, 1},
		{"a large directory", 1000, func(i int) string { return fmt.Sprintf("/d/%04d", i) }, 2 + 10, 10},
		{"all below one", 1000, func(i int) string { return fmt.Sprintf("/top/%02d/%d", i%50, i) }, 4 + 50, 1},
		{"a directory for each", 1000, func(i int) string { return fmt.Sprintf("/%04d/f", i) }, 2 + maxFetches + 10, 11},
		{"below one, a directory for each", 1000, func(i int) string { return fmt.Sprintf("/top/%04d/f", i) }, 4 + maxFetches + 10, 11},
	} {
		t.Run(shape.name, func(t *testing.T) {
			f := newFake()
			for i := range shape.memories {
				f.put(shape.path(i), fmt.Sprint(i))
			}
			all, err := listParallel(t.Context(), f)
			require.NoError(t, err)
			require.Len(t, all, shape.memories)
			for _, m := range f.memories {
				require.Equal(t, m.Path, all[m.ID].Path)
			}
			calls := f.called()
			require.LessOrEqual(t, len(calls), shape.most, "%s", calls)
			rounds := map[string]int{}
			for _, call := range calls {
				rounds[call]++
				require.LessOrEqual(t, rounds[call], shape.rounds, call)
			}
		})
	}
}

func TestR1_AListingThatFailsEnds(t *testing.T) {
	f := newFake()
	for i := range 300 {
		f.put(fmt.Sprintf("/d%d/e/%03d", i%20, i), "text")
	}
	f.before = func(call string) error {
		if strings.HasPrefix(call, "list /d7/") {
			return fmt.Errorf("%s: refused", call)
		}
		return nil
	}
	_, err := listParallel(t.Context(), f)
	require.ErrorContains(t, err, "refused")
}

// R5: a tree that never ends is not followed for ever.
func TestR5_EndlessTrees(t *testing.T) {
	for name, children := range map[string]func(dir string) []string{
		"deeper and deeper": func(dir string) []string { return []string{strings.TrimSuffix(dir, "/") + "/d/"} },
		"in itself":         func(dir string) []string { return []string{dir} },
		"outside of itself": func(string) []string { return []string{"/a/", "/../"} },
		"wide and deep": func(dir string) (all []string) {
			for i := range 64 {
				all = append(all, fmt.Sprintf("%s/%d/", strings.TrimSuffix(dir, "/"), i))
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := listParallel(t.Context(), endless{newFake(), children})
			require.ErrorIs(t, err, store.ErrProtocol)
		})
	}
}

// endless lists directories in every directory, and enough below each that it is
// looked into.
type endless struct {
	*fake
	children func(dir string) []string
}

func (e endless) List(_ context.Context, q store.ListQuery) (store.ListPage, error) {
	if q.Children {
		return store.ListPage{Prefixes: e.children(q.Prefix)}, nil
	}
	page := store.ListPage{Next: "more"}
	for i := range store.MaxBasicPage {
		at := fmt.Sprintf("%sx/%d", q.Prefix, i)
		page.Memories = append(page.Memories, store.Memory{ID: at, VersionID: at, Path: at})
	}
	return page, nil
}

// One lost answer does not end a listing of many requests: an attach has no
// next pass.
func TestR1_AListingSurvivesLostAnswers(t *testing.T) {
	withBench(t, func(b *bench) {
		for i := range 300 {
			b.put(fmt.Sprintf("/d%d/e/%03d", i%20, i), "text")
		}
		var lost sync.Map // by call; the listing asks from many goroutines
		b.hook(func(call string) error {
			if _, before := lost.LoadOrStore(call, true); !before {
				return &store.UnavailableError{Status: 529, After: time.Second}
			}
			return nil
		}, nil)
	}, func(b *bench) {
		b.hook(nil, nil)
		require.Len(t, b.tree(), 300)
	})
}
