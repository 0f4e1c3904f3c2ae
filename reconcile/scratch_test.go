package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

// What the store puts where local-only files stand takes their place, and their
// texts go where all losing texts go (R7, R17, R20).
func TestR7_TheStorePutsAFileWhereScratchStands(t *testing.T) {
	for name, c := range map[string]struct {
		scratch []string
		remote  string
	}{
		"at the file":                    {[]string{"/x~"}, "/x~"},
		"at its directory":               {[]string{"/d/x~", "/d/e/y~"}, "/d"},
		"at a directory of scratch":      {[]string{"/.git/config", "/.git/refs/main"}, "/.git"},
		"in a directory of scratch":      {[]string{"/.git/config", "/.git/other"}, "/.git/config"},
		"below the file":                 {[]string{"/x~"}, "/x~/y"},
		"below a file in a scratch tree": {[]string{"/.git/config"}, "/.git/config/x/y"},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, nil, func(b *bench) {
				for _, p := range c.scratch {
					b.write(p, "mine at "+p)
				}
				b.sync()
				require.Empty(t, b.texts())
				b.put(c.remote, "theirs")
				b.sync()
				require.Equal(t, "theirs", b.tree()[c.remote])
				for _, p := range c.scratch {
					if text := "mine at " + p; b.tree()[p] != text {
						require.Contains(t, b.losers(), text)
					}
				}
			})
		})
	}
}

// A local-only file replaces nothing in the store, so deletes that it stands in
// the way of are counted like all others.
func TestR8_ScratchIsNoReplacement(t *testing.T) {
	withBench(t, func(b *bench) {
		for i := range 20 {
			b.put(fmt.Sprint("/", i), "text")
		}
	}, func(b *bench) {
		for i := range 20 {
			b.rm(fmt.Sprint("/", i))
			b.write(fmt.Sprint("/", i, "/x~"), "mine")
		}
		report, err := b.timed()
		require.NoError(t, err)
		require.Equal(t, 20, report.HeldDeletes)
		require.Len(t, b.texts(), 20)
	})
}

// A name that the store held becomes local only with the outcome of a delete
// that was lost.
func TestR17_ALateDeleteMakesScratchOfWhatIsThere(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/x~", "v0") }, func(b *bench) {
		b.rm("/x~")
		b.hook(nil, once("delete", errNoAnswer))
		_, err := b.rec.Sync(b.Context(), true)
		require.ErrorIs(t, err, store.ErrUnavailable)
		b.write("/x~", "mine")
		require.Empty(t, b.sync().Unsent)
		require.Empty(t, b.texts())
		require.Equal(t, "mine", b.read("/x~"))
		b.converged()
	})
}

// A memory that cannot have its place yet takes no local-only file's place.
func TestR17_ScratchStaysUntilItsPlaceIsTaken(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.write("/d/x~", "mine")
		time.Sleep(time.Minute)
		b.write("/d/y", "mine too")
		b.put("/d", "theirs")
		pass := func() map[string]string {
			_, err := b.rec.Pass(b.Context(), PassOptions{})
			require.NoError(t, err)
			return b.tree()
		}
		require.Equal(t, map[string]string{"/d/x~": "mine", "/d/y": "mine too"}, pass())
		require.Empty(t, b.losers())
		time.Sleep(time.Minute)
		require.Equal(t, map[string]string{"/d": "theirs"}, pass())
		require.ElementsMatch(t, []string{"mine", "mine too"}, b.losers())
	})
}

// What the store deletes and has a local-only file's name is not made anew, and
// nobody is told that it was.
func TestR9_ADeletedMemoryWithALocalOnlyName(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/x~", "v0"); b.put("/a", "v0") }, func(b *bench) {
		b.write("/x~", "mine")
		b.mv("/a", "/a~")
		b.drop("/x~")
		b.drop("/a")
		b.sync()
		require.Equal(t, map[string]string{"/x~": "mine", "/a~": "v0"}, b.tree())
		require.Equal(t, 2, b.warned("kept_local"))
		require.Zero(t, b.warned("recreated"))
		b.converged()
		require.Empty(t, b.texts())
	})
}
