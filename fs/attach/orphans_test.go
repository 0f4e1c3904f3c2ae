package attach

import (
	"os"
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

// TestR19_UnreadableJournalsExpire: nobody can send what is in them.
func TestR19_UnreadableJournalsExpire(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	for path, age := range map[string]time.Duration{"old": orphanAge + time.Hour, "new": orphanAge - time.Hour} {
		r, err := replica.Open(replica.Options{Dir: state, Store: store.Info{ID: "memstore_1"}, Endpoint: "test", MountPath: filepath.Join(dir, path)})
		require.NoError(t, err)
		require.NoError(t, r.Close())
		journals, err := filepath.Glob(filepath.Join(state, "replicas", "*", "journal"))
		require.NoError(t, err)
		for _, name := range journals {
			if text, err := os.ReadFile(name); err == nil && len(text) > 0 {
				require.NoError(t, os.WriteFile(name, nil, 0o600))
				require.NoError(t, os.Chtimes(name, time.Time{}, time.Now().Add(-age)))
			}
		}
	}
	core, logs := observer.New(zapcore.InfoLevel)
	s := &Session{o: Options{StateDir: state, Log: zap.New(core)}}
	s.orphans(t.Context())

	assert.Len(t, logs.FilterField(zap.String("code", "orphan_discarded")).AllUntimed(), 1)
	assert.Len(t, logs.FilterField(zap.String("code", "orphan_failed")).AllUntimed(), 1)
	left, err := replica.Leftovers(state)
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Less(t, time.Since(left[0].Created), orphanAge)
}
