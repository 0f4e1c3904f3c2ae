//go:build linux

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/smalldisk"
)

// small gives the host a state directory of 2 MiB.
func (h *host) small() {
	h.t.Helper()
	smalldisk.Mount(h.t, h.state(), "2m")
}

// fill leaves no byte free in the state directory; the returned function makes
// room again.
func (h *host) fill() (room func()) {
	h.t.Helper()
	free, err := smalldisk.Fill(h.state())
	require.NoError(h.t, err)
	return func() { require.NoError(h.t, free()) }
}

// A full state directory is the writer's error, harms nothing in the store, and
// is over when there is room.
func TestR3_StateDirectoryFull(t *testing.T) {
	h := newHost(t)
	h.small()
	p := h.start()
	for _, name := range []string{"f", "keep", "gone", "moved"} {
		write(t, h.path(name), "precious\n")
	}
	h.sync()
	before := h.texts()

	room := h.fill()
	long := strings.Repeat("z", 90_000)
	var err error
	for i := 0; err == nil && i < 200; i++ { // until the journal's own room is taken
		err = os.WriteFile(h.path(fmt.Sprint("new", i)), []byte(long), 0o600)
	}
	assert.ErrorIs(t, err, unix.ENOSPC)
	assert.ErrorIs(t, os.WriteFile(h.path("f"), []byte(long), 0o600), unix.ENOSPC)
	assert.NoError(t, os.Remove(h.path("gone")), "a little always fits")
	assert.NoError(t, os.Rename(h.path("moved"), h.path("there")))
	assert.Equal(t, "precious\n", read(t, h.path("keep")))
	_, _, _ = h.run("sync", h.mnt)
	after := h.texts()
	assert.Equal(t, before["/f"], after["/f"], "half a save is not sent")
	assert.Equal(t, before["/keep"], after["/keep"])
	assert.NotContains(t, after, "/gone")
	assert.Equal(t, "precious\n", after["/there"])

	room()
	write(t, h.path("f"), "saved again\n")
	code, _, said := h.run("sync", h.mnt)
	assert.Equal(t, 6, code, "the last new file is half a save and waits")
	assert.Contains(t, said, "held back")
	halves, err := filepath.Glob(h.path("new*"))
	require.NoError(t, err)
	for _, half := range halves {
		require.NoError(t, os.Remove(half))
	}
	assert.Equal(t, "saved again\n", h.texts()["/f"])
	assert.Equal(t, "precious\n", h.texts()["/keep"])

	// A kill on a full disk loses nothing either.
	write(t, h.path("keep"), "changed\n")
	h.fill()
	p.kill()
	_, err = h.tryStart("mount", h.store+":"+h.mnt)
	if err == nil {
		assert.Equal(t, "changed\n", read(t, h.path("keep")))
		return
	}
	assert.Contains(t, tail(h.log()), "no space left on device")
	require.NoError(t, os.Remove(filepath.Join(h.state(), "fill")))
	h.start()
	assert.Equal(t, "changed\n", read(t, h.path("keep")))
	h.sync()
	assert.Equal(t, "changed\n", h.texts()["/keep"])
}

// The state directory is wiped under a running memfs: that deletes nothing,
// and what is written from then on is kept as ever.
func TestR3_StateDirectoryWiped(t *testing.T) {
	h := newHost(t)
	p := h.start()
	for i := range 12 {
		write(t, h.path(fmt.Sprint(i, ".md")), "text\n")
	}
	h.sync()
	eventually(t, "wiped, whatever is put there meanwhile", func() bool { return os.RemoveAll(h.state()) == nil })
	assert.Equal(t, "text\n", read(t, h.path("3.md")))
	// A write finds out, also one that is not synced, and the journal is made anew.
	eventually(t, "it heals", func() bool {
		journals, err := filepath.Glob(filepath.Join(h.state(), "replicas", "*", "journal"))
		return os.WriteFile(h.path("healed.md"), []byte("after\n"), 0o600) == nil && err == nil && len(journals) == 1
	})
	h.sync()
	assert.Len(t, h.texts(), 13)
	_, list, _ := h.run("recover", "list")
	assert.Contains(t, list, fmt.Sprintf("live (pid %d)", p.cmd.Process.Pid), "its lock was wiped too")
	write(t, h.path("later.md"), "kept\n")
	p.kill()

	p = h.start()
	assert.Equal(t, "kept\n", read(t, h.path("later.md")))
	for i := range 12 {
		assert.Equal(t, "text\n", read(t, h.path(fmt.Sprint(i, ".md"))))
	}
	assert.Zero(t, p.stop())
	assert.Len(t, h.texts(), 14)
}

func TestR3_StateDirectoryWipedWhileStopped(t *testing.T) {
	h := newHost(t)
	p := h.start()
	for i := range 12 {
		write(t, h.path(fmt.Sprint(i, ".md")), "text\n")
	}
	h.sync()
	p.kill()
	require.NoError(t, os.RemoveAll(h.state()))
	p = h.start()
	assert.Equal(t, "text\n", read(t, h.path("3.md")))
	h.sync()
	assert.Zero(t, p.stop())
	assert.Len(t, h.texts(), 12)
}

// What was overwritten does not fill a small disk.
func TestR3_ASmallStateDirectoryHoldsManyRewrites(t *testing.T) {
	h := newHost(t)
	h.small()
	p := h.start()
	var text string
	for i := range 200 {
		text = fmt.Sprint(i, strings.Repeat("z", 90_000))
		require.Eventually(t, func() bool { return os.WriteFile(h.path("f"), []byte(text), 0o600) == nil }, time.Minute, time.Millisecond,
			"the journal is made smaller")
	}
	p.kill()
	p = h.start()
	assert.Equal(t, text, read(t, h.path("f")))
	assert.Zero(t, p.stop())
	assert.Equal(t, map[string]string{"/f": text}, h.texts())
}

func TestR3_StateDirectoryReadOnly(t *testing.T) {
	h := newHost(t)
	h.small()
	require.NoError(t, unix.Mount("", h.state(), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := h.tryStart("mount", h.store+":"+h.mnt)
	require.Error(t, err)
	assert.Contains(t, tail(h.log()), "read-only file system")
	assert.Zero(t, h.mounts())
	assert.NoDirExists(t, h.mnt)

	require.NoError(t, unix.Mount("", h.state(), "", unix.MS_REMOUNT, ""))
	p := h.start()
	write(t, h.path("a.md"), "text\n")
	assert.Zero(t, p.stop())
	assert.Equal(t, map[string]string{"/a.md": "text\n"}, h.texts())
}

func TestR15_VolatileStateDirectoryIsWarnedAbout(t *testing.T) {
	h := newHost(t)
	h.small()
	assert.Zero(t, h.start().stop())
	warned := h.logged("state_volatile")
	require.Len(t, warned, 1)
	assert.Equal(t, "warn", warned[0]["level"])
	assert.Contains(t, warned[0]["message"], "on tmpfs")
	assert.Contains(t, warned[0]["remedy"], h.state())
}

// What could not be sent is named, sets the exit code, and goes out at the next
// attach: here as the marker was wrong, and all passes held still.
func TestR15_WhatEndsUnsentIsNamedAndStays(t *testing.T) {
	h := newHost(t)
	p := h.start()
	marker := read(t, h.path(".anthropic-memory-store"))
	write(t, h.path("a.md"), "unsent\n")
	write(t, h.path(".anthropic-memory-store"), "wrong")
	assert.Equal(t, 6, p.stop())
	require.NotEmpty(t, h.logged("unsent"))
	assert.Equal(t, []any{"/a.md"}, h.logged("unsent")[0]["paths"])
	assert.Empty(t, h.texts())

	p = h.start()
	assert.Equal(t, "unsent\n", read(t, h.path("a.md")))
	write(t, h.path(".anthropic-memory-store"), marker)
	assert.Zero(t, p.stop(), tail(h.log()))
	assert.Equal(t, map[string]string{"/a.md": "unsent\n"}, h.texts())
	assert.Zero(t, h.leftovers())
}
