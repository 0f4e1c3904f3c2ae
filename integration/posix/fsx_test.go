//go:build linux

package posix

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/mounttest"
	"memfs/store"
)

// TestFsx does random operations on a file and compares it with bytes in
// memory after each, while the file stays open and with each operation opening
// it anew.
func TestFsx(t *testing.T) {
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopen=%t", reopen), func(t *testing.T) {
			m := mounttest.Start(t, mounttest.Options{})
			x := newFsx(t, m, reopen)
			for range 21_500 {
				x.step()
			}
			x.save()
			x.close()
			m.Sync()
			x.stored()
		})
	}
}

// TestFsxWithRemoteChanges does the same while the store's text changes, and
// passes go on beside the operations. The file is at any time the old text with
// all operations on it, or the new one; a text that was lost to a remote change
// had been sent or is in the conflict area (R7, R20).
func TestFsxWithRemoteChanges(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{})
	x := newFsx(t, m, true)
	x.close()
	m.Sync()
	for range 50 {
		x.remote = x.dice.text(x.dice.IntN(20_000))
		x.journal.add("the store gets %d bytes", len(x.remote))
		for path, memory := range m.Memories() {
			_, err := m.Remote.Update(t.Context(), memory.ID, store.Update{Content: &x.remote, Expect: memory.SHA})
			require.NoError(t, err, path)
		}
		synced := make(chan string, 1)
		go func() { synced <- m.SyncError() }()
		for done := false; !done; {
			x.step()
			select {
			case failure := <-synced:
				require.Empty(t, failure)
				done = true
			default:
			}
		}
		for range 150 {
			x.step()
		}
		x.save()
		m.Sync()
		x.look()
		x.stored()
	}
	assert.NotEmpty(t, x.replaced, "no remote change met a local one")
	sent := m.History()
	for _, texts := range m.Losers() {
		for _, text := range texts {
			sent[store.Hash([]byte(text))] = true
		}
	}
	for _, text := range x.replaced {
		assert.True(t, sent[store.Hash([]byte(text))], "a text of %d bytes is nowhere", len(text))
	}
	t.Logf("%d operations, %d texts replaced", x.steps, len(x.replaced))
}
