//go:build linux

package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// notDetached fails where the mount is said to have left. A change of the mount
// table is there before the call that makes it returns.
func (m *mounted) notDetached() {
	m.t.Helper()
	assert.Contains(m.t, m.ask(order{Do: "detached", Timeout: 50 * time.Millisecond}).Err, "still in its place")
}

// R15: whoever unmounts lazily what is in use leaves a bare directory at the path.
func TestR15_AForeignLazyUnmountOfABusyMountIsNoticed(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	held, err := os.OpenFile(m.at("a"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer held.Close()
	m.notDetached()
	require.NoError(t, unmountLazily(m.path))
	m.do(order{Do: "detached", Timeout: soon})
	assert.Contains(t, m.ask(order{Do: "await", Timeout: time.Millisecond}).Err, "still served")
	_, err = held.WriteAt([]byte("kept on"), 0)
	require.NoError(t, err)
	require.NoError(t, held.Close())
	m.do(order{Do: "await", Timeout: soon})
	assert.Less(t, m.do(order{Do: "goroutines"}).Goroutines, 15)
}

func TestR15_TheEndOfAMountIsSeenAsDetachedToo(t *testing.T) {
	if !privileged() {
		t.Skip("ending a connection takes root")
	}
	m := newMount(t, map[string]string{"/a": "text"})
	require.NoError(t, unix.Unmount(m.path, unix.MNT_FORCE|unix.MNT_DETACH))
	m.do(order{Do: "detached", Timeout: soon})
	m.do(order{Do: "await", Timeout: soon})
	assert.Less(t, m.do(order{Do: "goroutines"}).Goroutines, 15)
}

// R15: what others do to the mount table, and to this mount short of unmounting
// it, does not end it.
func TestR15_AMountThatMovedOrIsCoveredHasNotLeft(t *testing.T) {
	if !privileged() {
		t.Skip("only root mounts")
	}
	m := newMount(t, map[string]string{"/a": "text"}, func(c *childConfig) {
		c.Path = filepath.Join(filepath.Dir(c.Path), "above", "mnt")
	})
	above, moved := filepath.Dir(m.path), filepath.Join(filepath.Dir(filepath.Dir(m.path)), "moved")
	require.NoError(t, unix.Mount("theirs", m.path, "tmpfs", 0, "size=1m"))
	m.notDetached()
	require.NoError(t, unix.Unmount(m.path, 0))
	m.notDetached()
	require.NoError(t, os.Rename(above, moved))
	copied := filepath.Join(moved, "copy")
	require.NoError(t, os.Mkdir(copied, 0o700))
	require.NoError(t, unix.Mount(filepath.Join(moved, "mnt"), copied, "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(copied, unix.MNT_DETACH) })
	m.notDetached()

	require.NoError(t, unix.Unmount(filepath.Join(moved, "mnt"), 0), "the copy keeps it from being done")
	m.do(order{Do: "detached", Timeout: soon})
	assert.Contains(t, m.ask(order{Do: "await", Timeout: time.Millisecond}).Err, "still served")
	require.NoError(t, unix.Unmount(copied, 0))
	m.do(order{Do: "await", Timeout: soon})
	require.NoError(t, os.Rename(moved, above))
}
