package backend_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/backend"
	"memfs/store"
	"memfs/store/claude"
)

func open(t *testing.T, dir string) *backend.Backend {
	b, err := backend.Open(dir, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

func TestEmbeddedStoreInProcess(t *testing.T) {
	dir := t.TempDir()
	b := open(t, filepath.Join(dir, "store"))
	assert.Equal(t, "local:"+filepath.Join(dir, "store"), b.Endpoint)

	made, err := b.CreateStore(t.Context(), "notes", "")
	require.NoError(t, err)
	client := b.Store(made.ID)
	memory, err := client.Create(t.Context(), "/a.md", []byte("hello\n"))
	require.NoError(t, err)
	got, err := b.Reader(made.ID).Get(t.Context(), memory.ID)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(got.Content))

	_, err = client.Create(t.Context(), "/a.md", nil)
	var taken *store.PathConflictError
	require.ErrorAs(t, err, &taken, "errors pass the transport too")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Get(ended, memory.ID)
	require.ErrorIs(t, err, context.Canceled)
}

func TestFindNamesSomeOfManyStores(t *testing.T) {
	b := open(t, t.TempDir())
	for range 7 {
		_, err := b.CreateStore(t.Context(), "notes", "")
		require.NoError(t, err)
	}
	_, err := b.Find(t.Context(), "unknown")
	require.ErrorContains(t, err, " and 2 more: memfs store list")
	assert.Equal(t, 5, strings.Count(err.Error(), "memstore_"), err)
	var unknown *claude.UnknownStoreError
	require.ErrorAs(t, err, &unknown)
}

func TestAPI(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "")
	assert.Equal(t, "https://api.anthropic.com", open(t, "").Endpoint)
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	assert.Equal(t, "http://127.0.0.1:1", open(t, "").Endpoint)
}

func TestOpenSaysWhichSecretCannotBeRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY_FILE", filepath.Join(t.TempDir(), "missing"))
	_, err := backend.Open("", zap.NewNop())
	require.ErrorIs(t, err, os.ErrNotExist)
}
