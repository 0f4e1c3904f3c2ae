//go:build linux

package crash

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// The store takes fewer memories than memfs knows of: what waits for room goes
// as room is made, also by another process than the one that was told.
func TestR11_AStoreThatTakesFewerThanIsKnown(t *testing.T) {
	h := newHostOf(t, local.Options{MaxMemories: 3})
	h.args = []string{"--max-memories", "20"}
	p := h.start()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		write(t, h.path(name), name)
		h.pass()
	}
	assert.Len(t, h.texts(), 3)
	assert.Len(t, h.logged("store_full"), 1)
	assert.Equal(t, "d", read(t, h.path("d")))

	require.NoError(t, os.Remove(h.path("a")))
	eventually(t, "the next one goes", func() bool { return h.texts()["/d"] == "d" })
	assert.Len(t, h.texts(), 3)
	p.kill()
	p = h.start()
	h.pass()
	require.NoError(t, os.Remove(h.path("b")))
	eventually(t, "and the next", func() bool { return h.texts()["/e"] == "e" })
	assert.Zero(t, p.stop())
	assert.Equal(t, map[string]string{"/c": "c", "/d": "d", "/e": "e"}, h.texts())
}
