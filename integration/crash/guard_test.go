//go:build linux

package crash

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// holding is a host of 12 memories and a memfs that holds five deletes: too few
// for the guard to hold them if it met them now.
func holding(t *testing.T) (*host, *process) {
	h := newHost(t)
	p := h.start()
	for i := range 12 {
		write(t, h.path(fmt.Sprint(i, ".md")), "text\n")
	}
	h.sync()
	for i := range 9 {
		require.NoError(t, os.Remove(h.path(fmt.Sprint(i, ".md"))))
	}
	h.pass()
	for i := 5; i < 9; i++ {
		write(t, h.path(fmt.Sprint(i, ".md")), "text\n")
	}
	h.pass()
	require.Equal(t, 5, h.heldDeletes())
	require.Len(t, h.texts(), 12)
	return h, p
}

// pass runs a pass that sends all but what is held.
func (h *host) pass() {
	h.t.Helper()
	code, _, stderr := h.run("sync", h.mnt)
	require.Contains(h.t, []int{0, 6}, code, stderr)
}

// heldDeletes is what status says of the mount.
func (h *host) heldDeletes() int {
	h.t.Helper()
	code, stdout, stderr := h.run("status", "--json", h.mnt)
	require.Zero(h.t, code, stderr)
	var found int
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if n, ok := v["held_deletes"].(float64); ok {
				found = int(n)
			}
			for _, below := range v {
				walk(below)
			}
		case []any:
			for _, below := range v {
				walk(below)
			}
		}
	}
	var status any
	require.NoError(h.t, json.Unmarshal([]byte(stdout), &status))
	walk(status)
	return found
}

func TestR8_HeldDeletesStayHeldThroughKills(t *testing.T) {
	h, p := holding(t)
	for range 2 { // from the journal, and from the checkpoint of the next start
		p.kill()
		p = h.start()
		h.pass()
		assert.Equal(t, 5, h.heldDeletes())
	}
	assert.Len(t, h.texts(), 12)
	assert.Len(t, h.logged("mass_delete"), 3, "each process says it once")

	code, _, stderr := h.run("sync", "--allow-deletes", h.mnt)
	require.Zero(t, code, stderr)
	assert.Len(t, h.texts(), 7)
	assert.Zero(t, p.stop())
}

func TestR16_DeletesThatAnOrphanHeldAreListedAndDiscarded(t *testing.T) {
	h, p := holding(t)
	p.kill()
	live := h.beside("other").start()
	eventually(t, "settled", func() bool { return len(h.logged("orphan_sent")) == 1 })
	require.Len(t, h.logged("orphan_discarded"), 1)
	assert.Equal(t, []any{"/0.md", "/1.md", "/2.md", "/3.md", "/4.md"}, h.logged("orphan_discarded")[0]["deletes"])
	assert.Len(t, h.texts(), 12)
	assert.Zero(t, live.stop())
}

func TestR16_RecoverPushHoldsWhatWasHeld(t *testing.T) {
	for allowed, left := range map[bool]int{false: 12, true: 7} {
		t.Run(fmt.Sprint("allow ", allowed), func(t *testing.T) {
			h, p := holding(t)
			p.kill()
			args := []string{"recover", "push"}
			if allowed {
				args = append(args, "--allow-deletes")
			}
			code, _, stderr := h.run(args...)
			require.Zero(t, code, stderr)
			assert.Len(t, h.texts(), left)
			assert.Zero(t, h.leftovers())
		})
	}
}

// Deletes that were sent before a kill count with those after it.
func TestR8_TheGuardCountsWhatWasSentBeforeAKill(t *testing.T) {
	h := newHost(t)
	p := h.start()
	for i := range 16 {
		write(t, h.path(fmt.Sprint(i, ".md")), "text\n")
	}
	h.sync()
	for i := range 8 {
		require.NoError(t, os.Remove(h.path(fmt.Sprint(i, ".md"))))
	}
	h.sync()
	require.Len(t, h.texts(), 8)
	p.kill()
	h.start().kill()
	p = h.start()
	require.NoError(t, os.Remove(h.path("8.md")))
	h.pass()
	assert.Len(t, h.texts(), 8)
	assert.Equal(t, 1, h.heldDeletes())
	assert.Zero(t, p.stop())
}

// What was let go goes, also when it could not be sent at once.
func TestR8_AllowedDeletesStayAllowedThroughAKill(t *testing.T) {
	h, p := holding(t)
	for i := 5; i < 11; i++ {
		require.NoError(t, os.Remove(h.path(fmt.Sprint(i, ".md"))))
	}
	h.server.set(&trap{all: true, apply: never})
	code, _, _ := h.run("sync", "--allow-deletes", h.mnt)
	require.NotZero(t, code)
	p.kill()
	h.server.set(nil)
	p = h.start()
	h.sync()
	assert.Len(t, h.texts(), 1)
	assert.Zero(t, p.stop())
}
