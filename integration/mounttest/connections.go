//go:build linux

package mounttest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Connections is a directory with what the kernel knows of every FUSE mount, by
// the minor number of its device: "waiting" is how many requests wait for an
// answer. Only root can see it.
func Connections(t testing.TB) (dir string, ok bool) {
	t.Helper()
	if os.Getuid() != 0 {
		return "", false
	}
	dir = t.TempDir()
	require.NoError(t, unix.Mount("none", dir, "fusectl", 0, ""))
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir, true
}
