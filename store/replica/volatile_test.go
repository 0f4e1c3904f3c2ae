package replica

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestR15_StateInMemoryIsNoticed(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "memfs-test-")
	if err != nil {
		t.Skip("no /dev/shm on this host, so no tmpfs that a test may use")
	}
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	kind, volatile, err := Volatile(filepath.Join(dir, "state"))
	require.NoError(t, err)
	assert.Equal(t, "tmpfs", kind)
	assert.True(t, volatile)
}
