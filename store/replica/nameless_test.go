package replica

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

// TestR16_FilesWithoutANameOutliveACheckpoint: what is written to files that lost
// their names and that somebody has open stands in the journal after a
// checkpoint, and does not keep a restart from what stands behind it.
func TestR16_FilesWithoutANameOutliveACheckpoint(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	write := func(ino Ino, text string, off int64) {
		_, err := w.Write(ctx, ino, []byte(text), off)
		require.NoError(t, err)
	}
	held := func(path string) Ino {
		dir, name := w.walk(path)
		a, err := w.Lookup(dir, name)
		require.NoError(t, err)
		return a.Ino
	}
	w.write("/log", "one")
	unlinked := held("/log")
	w.rm("/log")

	b := w.base("a", "/a", "first")
	w.base("b", "/b", "never written to")
	replaced, clean := held("/a"), held("/b")
	for i, ino := range []Ino{replaced, clean} {
		b := Base{ID: []string{"a", "b"}[i], VersionID: "v2", Path: []string{"/a", "/b"}[i], SHA: store.Hash([]byte("theirs")), Size: 6,
			CreatedAt: b.CreatedAt, UpdatedAt: w.clock.now()}
		w.texts[b.SHA] = "theirs"
		applied, err := w.Apply([]Apply{{Place: PutFile, ID: b.ID, Base: &b, Ino: ino}})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, applied)
	}

	dir, err := w.Mkdir(Root, "gone", 0o700, 0, 0)
	require.NoError(t, err)
	require.NoError(t, w.Rmdir(Root, "gone"))

	require.NoError(t, w.Checkpoint())
	write(unlinked, "two", 3)
	write(replaced, "mine", 5)
	mode := uint32(0o755)
	_, err = w.Setattr(ctx, dir.Ino, SetAttr{Mode: &mode})
	require.NoError(t, err)
	w.write("/after", "acknowledged")

	w.kill()
	assert.Equal(t, "acknowledged", w.read("/after"))
	assert.Equal(t, "theirs", w.read("/a"))
	strays := w.Snapshot(nil, nil).Strays
	require.Len(t, strays, 1)
	assert.Equal(t, "/a", strays[0].Path)
	assert.Equal(t, "a", strays[0].MemoryID)
	assert.Equal(t, store.Hash([]byte("firstmine")), strays[0].SHA)
	assert.Len(t, w.tree.nodes, len([]string{"root", "marker", "a", "b", "after", "stray"}))
}
