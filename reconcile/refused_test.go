package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestR11_RefusedContentIsAskedOnce(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		ino := b.write("/bad", "FORBIDDEN")
		b.write("/latin1", "\xe9")
		b.write("/good", "fine")
		report := b.sync()
		require.Equal(t, 2, report.Refused)
		require.Equal(t, map[string]string{"/good": "fine"}, b.texts())
		b.called()
		for range 3 {
			b.sync()
		}
		require.Empty(t, changes(b.called()), "not asked again")
		require.Equal(t, 2, b.warned("refused"))
		seen, err := b.rep.Inspect(ino)
		require.NoError(t, err)
		require.Equal(t, "refused", string(seen.State))
		b.write("/bad", "allowed")
		b.write("/latin1", "é")
		b.sync()
		b.converged()
	})
}

func TestR11_AFullStoreTakesTheNextWhenOneIsFreed(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b"); b.max, b.o.MaxMemories = 2, 2 }, func(b *bench) {
		b.write("/c", "c")
		b.write("/a", "edited")
		b.sync()
		b.sync()
		require.Equal(t, map[string]string{"/a": "edited", "/b": "b"}, b.texts())
		require.Equal(t, 1, b.warned("store_full"), "also where the store need not be asked")
		require.True(t, b.rec.Status().Full)
		b.rm("/b")
		b.sync()
		require.False(t, b.rec.Status().Full)
		b.converged()
	})
	withBench(t, func(b *bench) { b.max = 1 }, func(b *bench) {
		b.before = func(call string) error {
			if call == "create /2" {
				return store.ErrFull
			}
			return nil
		}
		b.write("/1", "1")
		b.sync()
		b.write("/2", "2")
		b.sync()
		b.sync()
		require.Equal(t, 1, b.warned("store_full"))
		require.True(t, b.rec.Status().Full)
		require.Len(t, b.called(), 2+2+1, "asked once while it is full")
	})
}

// A store may take fewer memories than is known here. It says so as it says that
// it will not have a content.
func TestR11_AStoreThatTakesFewerThanIsKnownIsFull(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b"); b.max, b.o.MaxMemories = 2, 20 }, func(b *bench) {
		for i := range 15 {
			b.write(fmt.Sprintf("/new/%02d", i), fmt.Sprint(i))
		}
		b.sync()
		require.LessOrEqual(t, len(changes(b.called())), maxSends)
		require.True(t, b.rec.Status().Full)
		require.Equal(t, 1, b.warned("store_full"))
		for range 3 {
			report := b.sync()
			require.Equal(t, 15, report.Held)
		}
		require.Empty(t, changes(b.called()), "not asked again while it is full")

		b.rm("/a")
		b.sync()
		require.Equal(t, map[string]string{"/b": "b", "/new/00": "0"}, b.texts(), "the next one goes when one is freed")
		b.drop("/b")
		b.sync()
		require.Equal(t, map[string]string{"/new/00": "0", "/new/01": "1"}, b.texts(), "whoever frees it")
		b.max = 100
		time.Sleep(listEvery + time.Second)
		b.sync()
		b.converged()
		require.False(t, b.rec.Status().Full)
	})
}

// One file alone is not taken: the reason shows with the next.
func TestR11_ARefusedContentIsToldFromAFullStore(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.max = 1 }, func(b *bench) {
		b.write("/new", "new")
		require.Equal(t, 1, b.sync().Refused)
		b.rm("/a")
		b.sync()
		b.converged()
	})
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.write("/bad", "FORBIDDEN")
		require.Equal(t, 1, b.sync().Refused)
		for i := range 50 {
			b.write(fmt.Sprintf("/good%d", i), "fine")
		}
		b.called()
		report := b.sync()
		require.Equal(t, 1, report.Refused)
		require.Len(t, changes(b.called()), 50, "no other waits for it, and it is not asked for again")
		require.Len(t, b.texts(), 52)
		b.rm("/a")
		b.sync()
		require.Len(t, changes(b.called()), 1, "it is known to be the content")
		require.Zero(t, b.warned("store_full"))
	})
}

func TestR14_ArchivedMeanwhile(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.archived = true
		b.write("/a", "edited")
		b.write("/new", "new")
		b.rm("/b")
		for range 3 {
			report := b.sync()
			require.Equal(t, []string{"/a", "/new"}, report.Unsent)
		}
		require.Equal(t, map[string]string{"/a": "a"}, b.texts(), "deletes still go")
		require.Equal(t, 1, b.warned("store_archived"))
	})
}

func TestR14_ARefusedCredentialStopsPushes(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a") }, func(b *bench) {
		b.hook(func(call string) error {
			if len(changes([]string{call})) == 1 {
				return store.ErrUnauthorized
			}
			return nil
		}, nil)
		for i := range 50 {
			b.write(fmt.Sprintf("/%d", i), "text")
		}
		for range 3 {
			_, err := b.rec.Sync(b.Context(), false)
			require.ErrorIs(t, err, store.ErrUnauthorized)
		}
		require.LessOrEqual(t, len(changes(b.called())), maxSends+2, "then one request a pass")
		require.Equal(t, 1, b.warned("unauthorized"))
		b.hook(nil, nil)
		b.sync()
		b.converged()
	})
}

func TestR14_AStoreThatIsGoneDeletesNothing(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.write("/a", "edited")
		gone := fmt.Errorf("store: %w", store.ErrNotFound)
		b.hook(func(string) error { return gone }, nil)
		for range 2 {
			report, err := b.rec.Sync(b.Context(), false)
			require.ErrorIs(t, err, store.ErrNotFound)
			require.Equal(t, []string{"/a"}, report.Unsent)
		}
		require.Equal(t, map[string]string{"/a": "edited", "/b": "b"}, func() map[string]string {
			b.hook(nil, nil)
			return b.tree()
		}())
		require.Equal(t, 1, b.warned("store_gone"))
	})
	t.Run("between learning and sending", func(t *testing.T) {
		withBench(t, func(b *bench) { b.put("/a", "a") }, func(b *bench) {
			b.write("/a", "edited")
			gone := false
			b.hook(func(call string) error {
				gone = gone || len(changes([]string{call})) == 1
				if gone {
					return fmt.Errorf("store: %w", store.ErrNotFound)
				}
				return nil
			}, nil)
			_, err := b.rec.Sync(b.Context(), false)
			require.ErrorIs(t, err, store.ErrNotFound)
			b.hook(nil, nil)
			require.Equal(t, "edited", b.read("/a"))
			_, known := b.rep.BaseAt("/a")
			require.True(t, known, "base stands")
		})
	})
}
