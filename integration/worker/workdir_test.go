package worker_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// R18: sessions at the same time do not work in one directory: each has its
// own, whether isolated or not. One that is served again finds its files, and
// empty directories go.
func TestR18_SessionsWorkApart(t *testing.T) {
	for name, args := range map[string][]string{"two": {"--max-sessions=2"}, "isolated": {"--max-sessions=2", "--isolate"}} {
		t.Run(name, func(t *testing.T) {
			h := isolated(t)
			first, second := h.open(h.store("first", nil)), h.open(h.store("second", nil))
			w := h.poll(args...)
			for _, x := range []*local.Session{first, second} {
				assert.Equal(t, h.path("work", "sessions", x.ID()), h.do(x, bash("pwd")))
				h.do(x, write("note.md", x.ID()))
			}
			for _, x := range []*local.Session{first, second} {
				assert.Equal(t, x.ID(), h.do(x, read("note.md")))
				if os.Geteuid() == 0 { // an ordinary user's sessions are that user's
					assert.Equal(t, x.ID(), h.do(x, bash("ls ..")), "of the other there is nothing to be seen")
				}
			}
			h.do(second, bash("rm note.md"))
			h.finish(second)
			h.finish(first)
			assert.Equal(t, 0, w.end())
			assert.FileExists(t, h.path("work", "sessions", first.ID(), "note.md"))
			assert.NoDirExists(t, h.path("work", "sessions", second.ID()))
		})
	}
}

// A session that is queued again works where it did.
func TestASessionFindsItsDirectoryAgain(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.open(h.store("notes", nil))
	for i, want := range []string{"(no output)", "kept"} {
		w := h.poll("--max-sessions=2")
		assert.Equal(t, want, h.do(x, bash("cat kept.md 2>/dev/null; printf kept > kept.md")))
		assert.Equal(t, 0, w.end())
		if i == 0 {
			h.interrupt(x)
		}
	}
}

// --share-workdir is for sessions that are to find each other's files.
func TestShareWorkdir(t *testing.T) {
	h := isolated(t)
	first, second := h.open(), h.open()
	w := h.poll("--max-sessions=2", "--isolate=auto", "--share-workdir")
	h.do(first, write("shared.md", "shared"))
	assert.Equal(t, "shared", h.do(second, read("shared.md")))
	h.finish(first)
	h.finish(second)
	assert.Equal(t, 0, w.end())
	require.NoDirExists(t, h.path("work", "sessions"))
}
