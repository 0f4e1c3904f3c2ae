package disk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestR15_FilesystemIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	kind, err := open(t, path, nil).Filesystem()
	require.NoError(t, err)
	out, err := exec.Command("df", "--output=fstype", path).Output()
	require.NoError(t, err)
	assert.Equal(t, strings.Fields(string(out))[1], kind)

	shm, err := os.MkdirTemp("/dev/shm", "memfs-test-")
	if err != nil {
		t.Skip("no /dev/shm to try tmpfs on: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(shm)) })
	kind, err = open(t, shm, nil).Filesystem()
	require.NoError(t, err)
	assert.Equal(t, "tmpfs", kind)
}
