//go:build linux

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestR16_OrphanIsSentAndRemoved(t *testing.T) {
	h := newHost(t)
	p := h.start()
	write(t, h.path("a.md"), "unsent\n")
	p.kill()

	other := h.beside("other")
	live := other.start()
	eventually(t, "sent", func() bool { return h.texts()["/a.md"] == "unsent\n" })
	eventually(t, "removed", func() bool { return h.leftovers() == 1 })
	eventually(t, "shown by the live mount", func() bool { _, err := os.Stat(other.path("a.md")); return err == nil })
	assert.Len(t, h.logged("orphan_sent"), 1)
	assert.Empty(t, h.logged("conflict"))
	eventually(t, "the dead mount is gone", func() bool { return h.mounts() == 0 })
	eventually(t, "its directory is gone", func() bool { _, err := os.Lstat(h.mnt); return os.IsNotExist(err) })
	assert.Zero(t, live.stop())
	assert.Zero(t, h.leftovers())
}

// Both sides changed while nobody looked: as always, the store wins and the
// losing text is kept.
func TestR16_OrphanThatConflictsLoses(t *testing.T) {
	h := newHost(t)
	m, err := h.client().Create(t.Context(), "/a.md", []byte("agreed\n"))
	require.NoError(t, err)
	p := h.start()
	write(t, h.path("a.md"), "local\n")
	p.kill()
	h.update(m.ID, m.SHA, "remote\n")

	live := h.beside("other").start()
	eventually(t, "settled", func() bool { return len(h.logged("orphan_sent")) == 1 })
	assert.Equal(t, map[string]string{"/a.md": "remote\n"}, h.texts())
	assert.Len(t, h.logged("conflict"), 1)
	kept, err := filepath.Glob(filepath.Join(h.state(), "conflicts", "*", "*"))
	require.NoError(t, err)
	assert.NotEmpty(t, kept)
	assert.Zero(t, live.stop())
}

func TestR16_OrphanChangedReadOnlyIsDiscarded(t *testing.T) {
	h := newHost(t)
	_, err := h.client().Create(t.Context(), "/a.md", []byte("agreed\n"))
	require.NoError(t, err)
	p := h.startAs(h.store + ":" + h.mnt + ":ro")
	write(t, h.path("a.md"), "never sent\n")
	p.kill()

	live := h.start() // at the same path, now writable
	eventually(t, "discarded", func() bool { return h.leftovers() == 1 })
	require.Len(t, h.logged("orphan_discarded"), 1)
	assert.Equal(t, []any{"/a.md"}, h.logged("orphan_discarded")[0]["edits"])
	assert.Equal(t, "agreed\n", read(t, h.path("a.md")))
	assert.Zero(t, live.stop())
	assert.Equal(t, map[string]string{"/a.md": "agreed\n"}, h.texts())
}

func TestR16_HeldDeletesOfAnOrphanAreDiscarded(t *testing.T) {
	h := newHost(t)
	p := h.start()
	for i := range 12 {
		write(t, h.path(fmt.Sprint(i, ".md")), "text\n")
	}
	h.sync()
	for i := range 12 {
		require.NoError(t, os.Remove(h.path(fmt.Sprint(i, ".md"))))
	}
	write(t, h.path("new.md"), "new\n")
	p.kill()

	live := h.beside("other").start()
	eventually(t, "settled", func() bool { return len(h.logged("orphan_sent")) == 1 })
	require.Len(t, h.logged("orphan_discarded"), 1)
	assert.Len(t, h.logged("orphan_discarded")[0]["deletes"], 12)
	eventually(t, "removed", func() bool { return h.leftovers() == 1 })
	assert.Len(t, h.texts(), 13)
	assert.Zero(t, live.stop())
}

func TestR16_AReplicaThatNeverHadAJournalIsRemoved(t *testing.T) {
	h := newHost(t)
	h.start().kill()
	journals, err := filepath.Glob(filepath.Join(h.state(), "replicas", "*", "journal"))
	require.NoError(t, err)
	require.Len(t, journals, 1)
	require.NoError(t, os.Remove(journals[0])) // as if it was killed a moment earlier
	live := h.beside("other").start()
	eventually(t, "removed", func() bool { return h.leftovers() == 1 })
	assert.Zero(t, live.stop())
}

func TestR16_LiveOwnerIsNamedAtOnce(t *testing.T) {
	h := newHost(t)
	p := h.start()
	began := time.Now()
	code, _, stderr := h.run("mount", h.store+":"+h.mnt)
	assert.Equal(t, 7, code, stderr)
	assert.Contains(t, stderr, fmt.Sprintf("process %d ", p.cmd.Process.Pid))
	assert.Less(t, time.Since(began), 30*time.Second)
	write(t, h.path("a.md"), "unharmed\n")
	assert.Zero(t, p.stop())
	assert.Equal(t, map[string]string{"/a.md": "unharmed\n"}, h.texts())
}

func TestR16_EndingOwnerIsWaitedFor(t *testing.T) {
	h := newHost(t)
	p := h.start()
	write(t, h.path("a.md"), "text\n")
	h.server.set(&trap{slow: 2 * time.Second})
	ended := make(chan int, 1)
	go func() { ended <- p.stop() }()
	eventually(t, "it ends", func() bool {
		locks, err := filepath.Glob(filepath.Join(h.state(), "replicas", "*", "lock"))
		return err == nil && len(locks) == 1 && read(t, locks[0]) == fmt.Sprintf("%d\nending\n", p.cmd.Process.Pid)
	})
	next, err := h.tryStart("mount", h.store+":"+h.mnt, "--sync-interval", "1")
	// The mount of the one before may have answered first.
	require.NoError(t, err)
	require.Zero(t, <-ended)
	eventually(t, "waited", func() bool { return len(h.logged("owner_ending")) == 1 })
	eventually(t, "mounted", func() bool { text, err := os.ReadFile(h.path("a.md")); return err == nil && string(text) == "text\n" })
	assert.Zero(t, next.stop())
	assert.NoDirExists(t, h.mnt)
}
