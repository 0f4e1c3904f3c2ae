package disk_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Root may enter any directory by its capabilities, so the child goes without.
func TestR18_AUmaskThatTakesTheOwnersRights(t *testing.T) {
	if root := os.Getenv("DISK_TEST_NO_CAPABILITIES"); root != "" {
		runtime.LockOSThread() // capabilities are a thread's
		unix.Umask(0o777)
		var none [2]unix.CapUserData
		require.NoError(t, unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]))
		makeEverything(t, root)
		return
	}
	root := filepath.Join(t.TempDir(), "a", "state")
	child := exec.Command(os.Args[0], "-test.run", "^TestR18_AUmaskThatTakesTheOwnersRights$")
	child.Env = append(os.Environ(), "DISK_TEST_NO_CAPABILITIES="+root, "GORACE=atexit_sleep_ms=0")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, fs.FileMode(0o700), mode(t, filepath.Dir(root)))
	assert.Equal(t, fs.FileMode(0o700), mode(t, root))
	assert.Equal(t, fs.FileMode(0o600), mode(t, filepath.Join(root, "sub", "written")))
}

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
