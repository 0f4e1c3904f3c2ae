package main_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// between stands between memfs and a store's server: it may answer itself.
func between(t *testing.T, server string, answered func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	target, err := url.Parse(server)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answered(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func TestStatusNamesTheSlowestOperations(t *testing.T) {
	const delay = 120 * time.Millisecond
	h := quiet(t)
	server := h.with("MEMFS_LOCAL=").serve()
	slow := between(t, server.url, func(_ http.ResponseWriter, r *http.Request) bool {
		if path.Base(path.Dir(r.URL.Path)) == "memories" { // one memory, with its content
			time.Sleep(delay)
		}
		return false
	})
	client := h.with("MEMFS_LOCAL=", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+slow, "MEMFS_HYDRATE=off")
	require.NoError(t, os.Mkdir(h.path("texts"), 0o755))
	write(t, h.path("texts/a.md"), "one\n")
	client.must("store", "import", h.path("texts"), "notes", "--create")
	mnt := h.path("mnt")
	client.must("mount", "notes:"+mnt, "--daemon")
	began := time.Now()
	assert.Equal(t, "one\n", read(t, filepath.Join(mnt, "a.md")))

	inside := h.with("RUNTIME_DIRECTORY=" + h.path("nothing-here")) // it sees only the mount
	for name, on := range map[string]*host{"outside": client, "inside": inside} {
		s := on.status(mnt).Status
		require.NotEmpty(t, s.Slowest, name)
		slowest := s.Slowest[0]
		assert.Equal(t, "read", slowest.Op, name)
		assert.Equal(t, "/a.md", slowest.Path, name)
		assert.GreaterOrEqual(t, slowest.Seconds, delay.Seconds(), name)
		assert.WithinRange(t, slowest.At, began, time.Now(), name)
		assert.Regexp(t, `(?m)^  slow +read /a\.md took [0-9.]+m?s, \d+s ago$`, on.must("status", mnt), name)
		assert.Regexp(t, `(?m)^PATH .*  SLOWEST\n(?:.*\n)*`+regexp.QuoteMeta(mnt)+` .*  read [0-9.]+m?s$`, on.must("status"), name)
	}
}
