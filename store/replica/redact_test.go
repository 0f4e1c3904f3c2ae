package replica

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica/conflicts"
)

// onDisk are the files under the state directory that have the text in them.
func (w *world) onDisk(text string) (found []string) {
	w.t.Helper()
	require.NoError(w.t, filepath.WalkDir(w.o.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			found = append(found, filepath.Base(path))
		}
		return err
	}))
	return found
}

func TestR19_RedactTakesATextOffTheHost(t *testing.T) {
	const secret = "secret text"
	w := newWorld(t)
	sha := store.Hash([]byte(secret))
	old := w.base("mem_1", "/a", "first")
	held, err := w.Lookup(Root, "a")
	require.NoError(t, err)
	w.write("/a", secret)
	lost, err := w.Conflicts().Save(conflicts.Entry{Path: "/a"}, []byte(secret))
	require.NoError(t, err)
	next := old
	next.VersionID, next.SHA, next.Size = "v-2", store.Hash([]byte("next")), 4
	w.texts[next.SHA] = "next"
	applied, err := w.Apply([]Apply{{Place: PutFile, ID: "mem_1", Base: &next, Ino: w.ino("/a"), Loser: &Loser{Reason: "edit"}}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
	require.NotEmpty(t, w.onDisk(secret))
	assert.Equal(t, map[store.SHA]bool{sha: true}, w.Here([]store.SHA{sha, store.Hash([]byte("never"))}))
	assert.Equal(t, secret, w.readIno(held.Ino), "R2")

	require.NoError(t, w.Redact(sha))
	assert.Empty(t, w.onDisk(secret), "journal, objects and conflict area")
	_, _, err = w.Conflicts().Text(lost.ID)
	require.ErrorIs(t, err, conflicts.ErrNotFound)
	_, err = w.Read(t.Context(), held.Ino, make([]byte, 99), 0)
	require.ErrorIs(t, err, ErrDamaged)
	assert.Equal(t, "next", w.read("/a"))
	w.Forget(held.Ino, 1)
	assert.Empty(t, w.Here([]store.SHA{sha}))
	w.kill()
	assert.Equal(t, "next", w.read("/a"))
}

func TestR19_AFileKeepsARedactedTextAndLosesItForGood(t *testing.T) {
	const secret = "secret text"
	w := newWorld(t)
	sha := store.Hash([]byte(secret))
	w.base("mem_1", "/a", "first")
	w.write("/a", secret)
	require.NoError(t, w.Redact(sha))
	assert.Equal(t, secret, w.read("/a"), "an acknowledged edit")
	w.kill()
	assert.Equal(t, secret, w.read("/a"))

	base := Base{ID: "mem_1", VersionID: "v-2", Path: "/a", SHA: store.Hash([]byte("next")), Size: 4}
	applied, err := w.Apply([]Apply{{Place: PutFile, ID: "mem_1", Base: &base, Ino: w.ino("/a"), Loser: &Loser{Reason: "edit"}}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
	entries, err := w.Conflicts().List()
	require.NoError(t, err)
	assert.Empty(t, entries)
	require.NoError(t, w.Checkpoint())
	assert.Empty(t, w.onDisk(secret))
}
