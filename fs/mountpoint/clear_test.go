//go:build linux

package mountpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/fs"
	"memfs/fs/mountpoint"
)

// deadMount is what a killed memfs leaves: a mount that nobody answers for.
func deadMount(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts")
	}
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("this host cannot mount: ", err)
	}
	require.NoError(t, unix.Mount("memfs:memstore_dead", path, "fuse.memfs", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device)))
	t.Cleanup(func() { _ = fs.Detach(path) })
	require.NoError(t, unix.Close(device))
	require.True(t, fs.Stale(path))
}

// R1, R16: a program that goes on writing after a kill puts a file where the dead
// mount was. It is left alone, and stops neither this start nor the next.
func TestR16_WhatCameInAfterADeadMountStopsNoStart(t *testing.T) {
	state, root := dirs(t)
	path := filepath.Join(root, "memory", "notes")
	p, err := mountpoint.Take(state, path, false)
	require.NoError(t, err)
	deadMount(t, path)
	require.NoError(t, p.Killed())
	require.NoError(t, mountpoint.Clear(state, path))
	early := filepath.Join(path, "early.md")
	require.NoError(t, os.WriteFile(early, []byte("early"), 0o600))

	for range 2 {
		p, err = mountpoint.Take(state, path, false)
		require.NoError(t, err)
		assert.Equal(t, []string{"early.md"}, p.Below())
		require.NoError(t, p.Remove())
	}
	text, err := os.ReadFile(early)
	require.NoError(t, err)
	assert.Equal(t, "early", string(text))

	p, err = mountpoint.Take(state, path, false)
	require.NoError(t, err)
	require.NoError(t, os.Remove(early))
	require.NoError(t, p.Remove())
	assert.NoDirExists(t, filepath.Join(root, "memory"), "with nothing in it any more it goes")
	require.NoError(t, os.MkdirAll(path, 0o700))
	_, err = mountpoint.Take(state, path, false)
	assert.ErrorAs(t, err, new(*mountpoint.TakenError), "and with it what was known of it")
}

// R1: what somebody put into a directory where no dead mount was taken away, or
// into one that memfs did not make, is in the way as before.
func TestR1_WhatIsInTheWayStaysInTheWay(t *testing.T) {
	state, root := dirs(t)
	own, theirs := filepath.Join(root, "own"), filepath.Join(root, "theirs")
	p, err := mountpoint.Take(state, own, false)
	require.NoError(t, err)
	require.NoError(t, p.Killed())
	require.NoError(t, mountpoint.Clear(state, own), "no dead mount")
	require.NoError(t, os.WriteFile(filepath.Join(own, "x"), nil, 0o600))
	_, err = mountpoint.Take(state, own, true)
	assert.ErrorAs(t, err, new(*mountpoint.TakenError))

	require.NoError(t, os.Mkdir(theirs, 0o755))
	p, err = mountpoint.Take(state, theirs, true)
	require.NoError(t, err)
	deadMount(t, theirs)
	require.NoError(t, p.Killed())
	require.NoError(t, mountpoint.Clear(state, theirs))
	require.NoError(t, os.WriteFile(filepath.Join(theirs, "x"), nil, 0o600))
	_, err = mountpoint.Take(state, theirs, true)
	assert.ErrorAs(t, err, new(*mountpoint.TakenError))
	assert.FileExists(t, filepath.Join(theirs, "x"))
}
