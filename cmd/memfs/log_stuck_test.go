//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// R14, R15: a supervisor that does not read the log of the memfs it started
// stops neither what agents do, nor passes, nor the end.
func TestR15_ALogThatNobodyReadsHoldsUpNothing(t *testing.T) {
	h := mounting(t)
	id := h.store("notes")
	unread, log, err := os.Pipe()
	require.NoError(t, err)
	defer unread.Close()
	_, err = unix.FcntlInt(log.Fd(), unix.F_SETPIPE_SZ, 4096)
	require.NoError(t, err)
	cmd := h.command("mount", "notes:"+h.path("mnt"), "--log-level=debug", "--trace")
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	hung := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // who waits for it is freed
	defer hung.Stop()
	require.NoError(t, log.Close())
	h.await(h.path("mnt/.anthropic-memory-store"))
	for i := range 15 {
		write(t, filepath.Join(h.path("mnt"), fmt.Sprintf("%d.md", i)), "text\n")
	}
	require.Eventually(t, func() bool { return h.run("status", "--check=synced", h.path("mnt")).code == 0 }, time.Minute, 100*time.Millisecond, "passes go on")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	assert.Len(t, h.memories(h.api().Reader(id)), 15)
}
