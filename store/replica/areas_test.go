package replica_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
	"memfs/store/replica/conflicts"
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
