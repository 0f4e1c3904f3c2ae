package guard_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/guard"
	"memfs/store"
)

// FuzzMarker checks any bytes as the marker of any store: only the exact bytes
// will do (R13).
func FuzzMarker(f *testing.F) {
	f.Add([]byte("version 1\nmemstore_1"), "memstore_1")
	f.Add([]byte("version 1\nmemstore_1\n"), "memstore_1")
	f.Add([]byte("version 1\n"), "")
	f.Add([]byte{}, "memstore_1")
	f.Fuzz(func(t *testing.T, text []byte, storeID string) {
		dir := t.TempDir()
		name := filepath.Join(dir, store.MarkerName)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		err := guard.CheckMarker(dir, storeID)
		if bytes.Equal(text, store.Marker(storeID)) {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, guard.ErrMarkerAltered)
		}
		require.NoError(t, guard.WriteMarker(dir, storeID))
		require.NoError(t, guard.CheckMarker(dir, storeID))
	})
}
