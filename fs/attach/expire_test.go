package attach

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
	"memfs/store/replica"
	"memfs/store/replica/conflicts"
)

// TestR19_ConflictsExpire: whoever left them, what is dropped is logged.
func TestR19_ConflictsExpire(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	old := time.Now().Add(-conflicts.DefaultMaxAge - time.Hour)
	for _, id := range []string{"memstore_1", "memstore_2"} {
		r, err := replica.Open(replica.Options{Dir: state, Store: store.Info{ID: id}, Endpoint: "test", MountPath: "/m"})
		require.NoError(t, err)
		for path, at := range map[string]time.Time{"/old": old, "/new": time.Now()} {
			_, err = r.Conflicts().Save(conflicts.Entry{StoreID: id, Path: path, Time: at}, []byte("text of "+path))
			require.NoError(t, err)
		}
		require.NoError(t, r.Remove())
	}
	core, logs := observer.New(zapcore.InfoLevel)
	require.NoError(t, expireConflicts(state, zap.New(core)))

	lines := logs.FilterField(zap.String("code", "conflict_expired")).AllUntimed()
	require.Len(t, lines, 2)
	for _, line := range lines {
		assert.Equal(t, "/old", line.ContextMap()["path"])
		assert.True(t, strings.HasPrefix(line.ContextMap()["store"].(string), "memstore_"))
		assert.NotContains(t, line.ContextMap(), "text")
	}
	areas, done, err := replica.ConflictAreas(state)
	require.NoError(t, err)
	defer done()
	require.Len(t, areas, 2)
	for _, area := range areas {
		entries, err := area.List()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		assert.Equal(t, "/new", entries[0].Path)
	}
	require.NoError(t, expireConflicts(filepath.Join(state, "missing"), zap.NewNop()))
}
