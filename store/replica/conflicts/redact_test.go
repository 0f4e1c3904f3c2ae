package conflicts_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica/conflicts"
)

func TestR19_RedactRemovesEveryTextWithTheHashAndTakesNoMore(t *testing.T) {
	f := open(t, conflicts.Options{})
	sha := store.Hash([]byte("redacted"))
	f.save(t, "redacted")
	f.save(t, "other")
	damaged := f.save(t, "redacted")
	require.NoError(t, os.WriteFile(filepath.Join(f.path, damaged.ID+".json"), []byte("{"), 0o600))

	require.NoError(t, f.Redact(sha))
	f.requireTexts(t, "other")
	for _, name := range f.files(t) {
		text, err := os.ReadFile(filepath.Join(f.path, name))
		require.NoError(t, err)
		assert.NotContains(t, string(text), "redacted")
	}
	_, err := f.Save(conflicts.Entry{}, []byte("redacted"))
	require.ErrorIs(t, err, conflicts.ErrRedacted)
	f.requireTexts(t, "other")

	gone, err := f.Redacted(sha)
	require.NoError(t, err)
	assert.True(t, gone)
	gone, err = f.Redacted(store.Hash([]byte("other")))
	require.NoError(t, err)
	assert.False(t, gone)
	require.NoError(t, f.Redact(sha), "again")
}

func TestR19_RedactedHashesAreForgottenWithTheTexts(t *testing.T) {
	f := open(t, conflicts.Options{})
	sha := store.Hash([]byte("redacted"))
	require.NoError(t, f.Redact(sha))
	mark := filepath.Join(f.path, sha.String()+".redacted")
	require.NoError(t, os.Chtimes(mark, f.now, f.now))
	for age, want := range map[time.Duration]bool{conflicts.DefaultMaxAge - time.Hour: true, conflicts.DefaultMaxAge + time.Hour: false} {
		require.NoError(t, f.Redact(sha))
		require.NoError(t, os.Chtimes(mark, f.now.Add(-age), f.now.Add(-age)))
		dropped, err := f.Expire()
		require.NoError(t, err)
		assert.Empty(t, dropped)
		gone, err := f.Redacted(sha)
		require.NoError(t, err)
		assert.Equal(t, want, gone)
	}
}

func TestNoteAddsVersionsOnce(t *testing.T) {
	f := open(t, conflicts.Options{})
	e, err := f.Save(conflicts.Entry{StoreID: "memstore_1", MemoryID: "mem_1", ReadOnly: true, Path: "/a"}, []byte("text"))
	require.NoError(t, err)
	require.NoError(t, f.Note(e.ID, "memver_2", "memver_1"))
	require.NoError(t, f.Note(e.ID, "memver_2"))
	e.Versions = []string{"memver_1", "memver_2"}
	entries, err := f.List()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.True(t, e.Time.Equal(entries[0].Time))
	entries[0].Time = e.Time
	assert.Equal(t, e, entries[0])
	assert.ErrorIs(t, f.Note("20260102T030405.000Z-AAAAAAAA", "memver_1"), conflicts.ErrNotFound)
	assert.ErrorIs(t, f.Note("../x", "memver_1"), conflicts.ErrNotFound)
}
