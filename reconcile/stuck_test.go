package reconcile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// What somebody makes of a memory before we hear that it was created is seen.
func TestR5_ACreateThatIsOvertaken(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.write("/a", "mine")
		release := make(chan struct{})
		b.hook(nil, func(call string) error {
			if strings.HasPrefix(call, "create") {
				<-release
			}
			return nil
		})
		_, err := b.timed()
		require.NoError(t, err)
		b.put("/a", "theirs")
		_, err = b.timed()
		require.NoError(t, err)
		close(release)
		_, err = b.timed()
		require.NoError(t, err)
		require.Equal(t, "theirs", b.read("/a"))
		require.Empty(t, b.losers())
		b.converged()
	})
}

// A losing text that cannot be read holds back its own file only.
func TestR7_ATextThatCannotBeKeptHoldsBackNothingElse(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.write("/a", "mine")
		b.restart()
		damage(b, "mine")
		b.put("/a", "theirs a")
		b.put("/b", "theirs b")
		_, err := b.timed()
		require.ErrorIs(t, err, replica.ErrDamaged)
		require.Equal(t, "theirs b", b.read("/b"))
		require.Equal(t, 1, b.rep.Status().Dirty)
	})
}

// damage makes the object of a text another.
func damage(b *bench, text string) {
	found, err := filepath.Glob(filepath.Join(b.dir, "replicas", "*", "objects", store.Hash([]byte(text)).String()))
	require.NoError(b, err)
	require.Len(b, found, 1)
	require.NoError(b, os.WriteFile(found[0], []byte("rotten"), 0o600))
}

// A file was moved here without its text ever being needed, and the store has
// deleted it for good meanwhile: that is said, and the store is not asked again.
func TestR9_ATextThatIsNowhere(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a secret") }, func(b *bench) {
		b.mv("/a", "/b")
		b.drop("/a")
		b.redact("a secret")
		_, err := b.timed()
		require.NoError(t, err)
		require.Equal(t, 1, b.rep.Status().Refused)
		require.Equal(t, 1, b.warned("refused"))
		require.Zero(t, b.warned("store_gone"))
		b.called()
		_, err = b.timed()
		require.NoError(t, err)
		require.Len(t, b.called(), 1)

		b.put("/b", "theirs")
		_, err = b.timed()
		require.NoError(t, err)
		require.Equal(t, "theirs", b.read("/b"))
		b.converged()
	})
}

// A memory whose path is too long to be shown is in the way all the same.
func TestR12_ALongPathIsInTheWay(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.fake.mu.Lock()
		old := b.fake.write(store.Memory{}, "/a"+strings.Repeat("/x", store.MaxSegments), []byte("old"), store.Created)
		b.fake.mu.Unlock()
		b.write("/a", "mine")
		for range 2 {
			_, err := b.timed()
			require.NoError(t, err)
			require.Empty(t, changes(b.called()))
		}
		require.Equal(t, 1, b.warned("path_taken"))
		require.Equal(t, 1, b.rep.Status().Held)
		b.drop(old.Path)
		time.Sleep(time.Second)
		b.sync()
		require.Equal(t, map[string]string{"/a": "mine"}, b.texts())
	})
}
