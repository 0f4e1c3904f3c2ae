//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
)

// under writes a file into the directory that a mount stands on, as a program
// does that hits the moment between a dead mount and the next.
func (h *host) under(name, text string) {
	h.t.Helper()
	if os.Geteuid() != 0 {
		h.t.Skip("only root sees what is below a mount")
	}
	above := h.path("above")
	require.NoError(h.t, os.MkdirAll(above, 0o700))
	require.NoError(h.t, unix.Mount(h.dir, above, "", unix.MS_BIND, ""))
	defer func() { assert.NoError(h.t, unix.Unmount(above, unix.MNT_DETACH)) }()
	write(h.t, filepath.Join(above, "mnt", name), text)
}

// R16: what a program wrote where a killed memfs had been mounted stops no start,
// and is there afterwards.
func TestR16_AWriterAfterAKillStopsNoStart(t *testing.T) {
	h := mounting(t)
	id, mnt := h.store("notes"), h.path("mnt")
	cmd := h.background(nil, "mount", "notes:"+mnt)
	h.await(filepath.Join(mnt, store.MarkerName))
	write(t, filepath.Join(mnt, "a.md"), "kept\n")
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	h.under("early.md", "early\n")

	for range 2 { // the first clears the dead mount away, the second finds the file alone
		h.must("mount", "notes:"+mnt, "--daemon")
		assert.Equal(t, "kept\n", fileText(t, filepath.Join(mnt, "a.md")))
		assert.NoFileExists(t, filepath.Join(mnt, "early.md"))
		h.must("unmount", mnt)
		assert.Equal(t, "early\n", fileText(t, filepath.Join(mnt, "early.md")))
	}
	assert.Equal(t, map[string]string{"/a.md": "kept\n"}, h.memories(h.api().Reader(id)))
	require.NoError(t, os.Remove(filepath.Join(mnt, "early.md")))
	h.must("mount", "notes:"+mnt, "--daemon")
	h.must("unmount", mnt)
	assert.NoDirExists(t, mnt)
}
