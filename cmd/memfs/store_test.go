package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

func TestVersion(t *testing.T) {
	h := newHost(t)
	assert.Regexp(t, `^memfs devel \w+/\w+ go1\.\d+`, h.must("version"))
	assert.Equal(t, "memfs version devel\n", h.must("--version"))
}

func TestStoreCreateAndList(t *testing.T) {
	h := newHost(t).local()
	h.fails(exitcode.Usage, "no embedded store at "+h.path("stores")+": correct --local", "store", "list")
	assert.NoDirExists(t, h.path("stores"), "a directory named by mistake")
	id := strings.TrimSpace(h.must("store", "create", "User Preferences", "--description", "what the user likes"))
	assert.Regexp(t, `^memstore_\w+$`, id)

	again := h.with("MEMFS_LOCAL="+h.path("twins")).run("store", "create", "notes")
	assert.Empty(t, again.stderr)
	again = h.with("MEMFS_LOCAL="+h.path("twins")).run("store", "create", "notes")
	assert.Equal(t, exitcode.OK, again.code)
	assert.Regexp(t, `memfs: warning: memstore_\w+ is called "notes" too`, again.stderr)

	lines := strings.Split(h.must("store", "list"), "\n")
	require.Len(t, lines, 3)
	assert.Regexp(t, `^ID +NAME +CREATED$`, lines[0])
	assert.Equal(t, id+"  User Preferences  "+time.Now().UTC().Format(time.DateOnly), lines[1])

	var stores []map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.must("store", "list", "--json")), &stores))
	require.Len(t, stores, 1)
	assert.Equal(t, id, stores[0]["id"])
	assert.Equal(t, "User Preferences", stores[0]["name"])
	assert.Equal(t, "what the user likes", stores[0]["description"])
}

func TestUnreachableAndRefused(t *testing.T) {
	h := newHost(t)
	nowhere := h.with("ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=k")
	nowhere.fails(exitcode.Unreachable, "check the network and ANTHROPIC_BASE_URL", "store", "list")
	nowhere.fails(exitcode.Unreachable, "check the network and ANTHROPIC_BASE_URL", "mount", "notes")
	nowhere.fails(exitcode.ExecFailed, "check the network and ANTHROPIC_BASE_URL", "exec", "notes", "--", "true")

	url := h.with("MEMFS_SERVE_KEY=right").serve().url
	wrong := h.with("ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=wrong")
	wrong.fails(exitcode.Unreachable, "set ANTHROPIC_API_KEY", "store", "list")
	none := h.with("ANTHROPIC_BASE_URL=" + url)
	none.fails(exitcode.Unreachable, "set ANTHROPIC_API_KEY", "mount", "notes")
	right := h.with("ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=right")
	assert.Regexp(t, `^memstore_`, right.must("store", "create", "notes"))
}

// server is a memfs serve that can come and go at one address.
type server struct {
	host *host
	url  string
	cmd  *exec.Cmd
}

// serve starts memfs serve on a free port.
func (h *host) serve() *server {
	h.t.Helper()
	s := &server{host: h, url: "http://127.0.0.1:0"}
	s.start()
	return s
}

func (s *server) start() {
	s.host.t.Helper()
	r, w, err := os.Pipe()
	require.NoError(s.host.t, err)
	s.cmd = s.host.background(w, "serve", "--local", s.host.path("served"), "--listen", strings.TrimPrefix(s.url, "http://"))
	require.NoError(s.host.t, w.Close())
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(s.host.t, err)
	require.NoError(s.host.t, r.Close())
	url := regexp.MustCompile(`^export ANTHROPIC_BASE_URL=(http://127\.0\.0\.1:\d+)\n$`).FindStringSubmatch(line)
	require.NotNil(s.host.t, url, line)
	s.url = url[1]
}

func (s *server) stop() {
	s.host.t.Helper()
	require.NoError(s.host.t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(s.host.t, s.cmd.Wait())
}

func (s *server) pid() string { return strconv.Itoa(s.cmd.Process.Pid) }

func TestServeEndsWithASignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		h := newHost(t)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		cmd := h.background(w, "serve", "--local", h.path("served"), "--listen", "127.0.0.1:0")
		require.NoError(t, w.Close())
		out := bufio.NewReader(r)
		_, err = out.ReadString('\n')
		require.NoError(t, err)
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "export ANTHROPIC_API_KEY=any\n", line)
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait(), "exit code 0")
		require.NoError(t, r.Close())
	}
}
