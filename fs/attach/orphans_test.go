package attach

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
	"memfs/store/replica"
)

// TestR19_CachesExpire: what was kept for a faster next attach goes when there
// was none.
func TestR19_CachesExpire(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	for path, age := range map[string]time.Duration{"old": cacheAge + time.Hour, "new": cacheAge - time.Hour} {
		r, err := replica.Open(replica.Options{Dir: state, Store: store.Info{ID: "memstore_1"}, Endpoint: "test",
			MountPath: filepath.Join(dir, path), Now: func() time.Time { return time.Now().Add(-age) }})
		require.NoError(t, err)
		require.NoError(t, r.Keep())
	}
	core, logs := observer.New(zapcore.InfoLevel)
	s := &Session{o: Options{StateDir: state, Log: zap.New(core)}}
	s.orphans(t.Context())

	lines := logs.FilterField(zap.String("code", "cache_expired")).AllUntimed()
	require.Len(t, lines, 1)
	assert.Equal(t, filepath.Join(dir, "old"), lines[0].ContextMap()["path"])
	left, err := replica.Leftovers(state)
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Equal(t, filepath.Join(dir, "new"), left[0].MountPath)
}
