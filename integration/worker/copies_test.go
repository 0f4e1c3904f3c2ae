package worker_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// Without FUSE the stores are copied, and one line says what is lost.
func TestFUSEOff(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", map[string]string{"/a.md": "a\n"})
	x := h.session([]local.Attachment{notes},
		bash("cat "+h.at("notes", "a.md")+"; echo new > "+h.at("notes", "new.md")+"; grep -c "+h.at("notes")+" /proc/mounts; env | grep -c ANTHROPIC"))
	w := h.poll(append(asRoot(), "--fuse=off")...)
	h.stopped(x)
	assert.Equal(t, 0, w.end())
	assert.Contains(t, texts(x)[0], "a\n0\n0")
	assert.Equal(t, map[string]string{"/a.md": "a\n", "/new.md": "new\n"}, h.contents(notes))
	assert.Equal(t, 1, strings.Count(w.log.String(), "no_fuse"))
	h.removeParent()
}

// --fuse=auto falls back where /dev/fuse cannot be opened, and mounts where it
// can.
func TestFUSEAuto(t *testing.T) {
	h := newHost(t, local.Options{})
	for _, without := range []bool{false, true} {
		notes := h.store("notes", map[string]string{"/a.md": "a\n"})
		x := h.session([]local.Attachment{notes}, bash("cat "+h.at("notes", "a.md")))
		args := append([]string{"--fuse=auto"}, asRoot()...)
		c := h.command(append([]string{"worker", "poll", "--workdir", h.path("work")}, args...)...)
		if without {
			c = h.withoutFUSE(args...)
		}
		w := h.run(c)
		h.stopped(x)
		assert.Equal(t, 0, w.end())
		assert.Equal(t, []string{"a"}, texts(x))
		assert.Equal(t, without, strings.Contains(w.log.String(), "no_fuse"))
	}
	h.removeParent()
}

// What a killed memfs left mounted does not block the copies.
func TestFUSEOffAfterAKill(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", map[string]string{"/a.md": "a\n"})
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("true"))
	require.NoError(t, syscall.Kill(w.serving(), syscall.SIGKILL))
	w.kill()
	again := h.poll(append(asRoot(), "--fuse=off")...)
	assert.Equal(t, "a", h.do(x, bash("cat "+h.at("notes", "a.md"))))
	h.finish(x)
	assert.Equal(t, 0, again.end())
	h.removeParent()
}

// removeParent removes the parent of mounts that the official worker leaves.
func (h *host) removeParent() {
	h.t.Helper()
	require.NoError(h.t, syscall.Rmdir(h.mounts))
}
