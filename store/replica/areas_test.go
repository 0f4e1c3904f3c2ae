package replica_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
	"memfs/store/replica/conflicts"
	"memfs/store/replica/disk"
)

func TestConflictAreasOfEveryStoreAndEndpoint(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	areas, closeAreas, err := replica.ConflictAreas(state)
	require.NoError(t, err)
	closeAreas()
	assert.Empty(t, areas)
	assert.NoDirExists(t, state, "looking makes nothing")

	for _, endpoint := range []string{"https://one", "https://two"} {
		r, err := replica.Open(replica.Options{Dir: state, Store: store.Info{ID: "memstore_1"}, Endpoint: endpoint, MountPath: "/mnt"})
		require.NoError(t, err)
		_, err = r.Conflicts().Save(conflicts.Entry{StoreID: "memstore_1", Path: "/a"}, []byte(endpoint))
		require.NoError(t, err)
		require.NoError(t, r.Remove())
	}
	areas, closeAreas, err = replica.ConflictAreas(state)
	require.NoError(t, err)
	defer closeAreas()
	require.Len(t, areas, 2)
	for _, area := range areas {
		assert.NotEqual(t, area.Of("https://one", "memstore_1"), area.Of("https://two", "memstore_1"))
		assert.False(t, area.Of("https://one", "memstore_2"))
		entries, err := area.List()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		text, _, err := area.Text(entries[0].ID)
		require.NoError(t, err)
		assert.True(t, area.Of(string(text), "memstore_1"))
	}
}

func TestR19_AnEmptyConflictAreaGoesAtACleanEnd(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	open := func(mount string) *replica.Replica {
		r, err := replica.Open(replica.Options{Dir: state, Store: store.Info{ID: "memstore_1"}, MountPath: mount})
		require.NoError(t, err)
		return r
	}
	left := func() int {
		entries, err := os.ReadDir(filepath.Join(state, "conflicts"))
		require.NoError(t, err)
		return len(entries)
	}
	one, other := open("/one"), open("/other")
	require.NoError(t, one.Remove())
	assert.Zero(t, left())
	entry, err := other.Conflicts().Save(conflicts.Entry{StoreID: "memstore_1", Path: "/a"}, []byte("lost"))
	require.NoError(t, err, "who still has it open makes it anew")
	require.NoError(t, other.Remove())
	assert.Equal(t, 1, left(), "one with a text stays")

	areas, done, err := replica.ConflictAreas(state)
	require.NoError(t, err)
	require.Len(t, areas, 1)
	require.NoError(t, areas[0].Drop(entry.ID))
	done()
	assert.Zero(t, left())
}

// R18: areas that cannot be opened are an error, wherever the fault is.
func TestR18_UnsafeConflictAreas(t *testing.T) {
	for name, spoil := range map[string]func(state string) error{
		"the state directory": func(state string) error { return os.Symlink(t.TempDir(), state) },
		"all of them": func(state string) error {
			return errors.Join(os.Mkdir(state, 0o700), os.WriteFile(filepath.Join(state, "conflicts"), nil, 0o600))
		},
		"one": func(state string) error {
			return errors.Join(os.MkdirAll(filepath.Join(state, "conflicts"), 0o700), os.Symlink(t.TempDir(), filepath.Join(state, "conflicts", "a")))
		},
	} {
		state := filepath.Join(t.TempDir(), "state")
		require.NoError(t, spoil(state), name)
		_, _, err := replica.ConflictAreas(state)
		var unsafe *disk.UnsafeError
		require.ErrorAs(t, err, &unsafe, name)
	}
}
