package disk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
)

func TestR18_LockIsExclusiveAndNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d, other := open(t, path, nil), open(t, path, nil)
	lock, err := d.Lock("lock")
	require.NoError(t, err)

	_, err = other.Lock("lock")
	require.ErrorIs(t, err, disk.ErrLocked)
	var locked *disk.LockedError
	require.ErrorAs(t, err, &locked)
	assert.Equal(t, disk.LockedError{Path: filepath.Join(path, "lock"), PID: os.Getpid()}, *locked)

	require.NoError(t, lock.Ending())
	_, err = other.Lock("lock")
	require.ErrorAs(t, err, &locked)
	assert.Equal(t, disk.LockedError{Path: filepath.Join(path, "lock"), PID: os.Getpid(), Ending: true}, *locked)

	require.NoError(t, lock.Release())
	lock, err = other.Lock("lock")
	require.NoError(t, err)
	_, err = d.Lock("lock")
	require.ErrorAs(t, err, &locked)
	assert.False(t, locked.Ending, "the word of the holder before")
	require.NoError(t, lock.Release())
}

func TestLockEndsWithTheProcess(t *testing.T) {
	if path := os.Getenv("DISK_TEST_LOCK"); path != "" {
		d, err := disk.Open(path, nil)
		require.NoError(t, err)
		_, err = d.Lock("lock")
		require.NoError(t, err)
		self, err := os.FindProcess(os.Getpid())
		require.NoError(t, err)
		require.NoError(t, self.Kill())
		select {}
	}
	path := filepath.Join(t.TempDir(), "state")
	child := exec.Command(os.Args[0], "-test.run", "^TestLockEndsWithTheProcess$")
	child.Env = append(os.Environ(), "DISK_TEST_LOCK="+path)
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.False(t, exit.Exited(), "%s", out)

	lock, err := open(t, path, nil).Lock("lock")
	require.NoError(t, err)
	require.NoError(t, lock.Release())
}

// A holder that removes the file as it ends must not leave us with a lock on
// a file that nobody else can find.
func TestLockOfARemovedFileIsTakenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	removed := false
	d := open(t, path, func(op disk.Op) disk.Fault {
		if op.Kind == disk.KindLock && !removed {
			removed = true
			require.NoError(t, os.Remove(filepath.Join(path, "lock")))
		}
		return disk.Fault{}
	})
	lock, err := d.Lock("lock")
	require.NoError(t, err)
	require.True(t, removed)
	_, err = open(t, path, nil).Lock("lock")
	assert.ErrorIs(t, err, disk.ErrLocked)
	require.NoError(t, lock.Release())
}
