package guard_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/guard"
	"memfs/store"
)

func TestR13_Marker(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, store.MarkerName)
	require.ErrorIs(t, guard.CheckMarker(dir, "memstore_1"), guard.ErrMarkerMissing)

	require.NoError(t, guard.WriteMarker(dir, "memstore_1"))
	require.NoError(t, guard.CheckMarker(dir, "memstore_1"))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "version 1\nmemstore_1", string(text), "no final newline")
	require.ErrorIs(t, guard.CheckMarker(dir, "memstore_2"), guard.ErrMarkerAltered)

	for _, text := range []string{"", "version 1\nmemstore_1\n", "version 1\nmemstore_", "version 2\nmemstore_1"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		require.ErrorIs(t, guard.CheckMarker(dir, "memstore_1"), guard.ErrMarkerAltered, "%q", text)
	}
	require.NoError(t, os.WriteFile(name, []byte("much longer than any marker ever was or will be"), 0o600))
	require.NoError(t, guard.WriteMarker(dir, "memstore_1"))
	require.NoError(t, guard.CheckMarker(dir, "memstore_1"))
}

func TestR13_MarkerThatIsNoFile(t *testing.T) {
	for kind, place := range map[string]func(name string) error{
		"directory": func(name string) error { return os.Mkdir(name, 0o700) },
		"fifo":      func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"link": func(name string) error {
			target := filepath.Join(filepath.Dir(name), "target")
			if err := os.WriteFile(target, store.Marker("memstore_1"), 0o600); err != nil {
				return err
			}
			return os.Symlink(target, name)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, place(filepath.Join(dir, store.MarkerName)))
			require.ErrorIs(t, guard.CheckMarker(dir, "memstore_1"), guard.ErrMarkerAltered)
			require.Error(t, guard.WriteMarker(dir, "memstore_1"))
		})
	}
	require.Error(t, guard.WriteMarker(filepath.Join(t.TempDir(), "gone"), "memstore_1"))
}
