//go:build linux

package main_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// trouble is a mount in the foreground whose log is read, of a store whose
// server fails as it is told to.
type trouble struct {
	*host
	client store.Client // how somebody else writes
	mnt    string
	front  *httptest.Server
	fault  atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	cmd    *exec.Cmd
	events chan event
	manual map[string][]string
}

// event is one line of the log.
type event struct{ Code, Message string }

func newTrouble(t *testing.T, manual map[string][]string) *trouble {
	t.Helper()
	h := quiet(t)
	server, err := local.Open(h.path("served"), local.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	x := &trouble{mnt: h.path("mnt"), manual: manual}
	x.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := x.fault.Load(); fault == nil || !(*fault)(w, r) {
			server.Handler().ServeHTTP(w, r)
		}
	}))
	t.Cleanup(x.front.Close)
	direct := httptest.NewServer(server.Handler())
	t.Cleanup(direct.Close)
	api, err := claude.New(claude.Config{BaseURL: direct.URL, Credential: "any"})
	require.NoError(t, err)
	t.Cleanup(api.Close)
	x.host = h.with("MEMFS_LOCAL=", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+x.front.URL)
	info, err := api.CreateStore(t.Context(), "notes", "")
	require.NoError(t, err)
	x.client = api.Store(info.ID)
	return x
}

// mount mounts the store and waits until that is said, and commands get through.
func (x *trouble) mount(flags ...string) {
	x.t.Helper()
	x.start(append([]string{"mount", "notes:" + x.mnt, "--log-format=json"}, flags...)...)
	x.sees("mounted")
	require.Eventually(x.t, func() bool {
		sockets, err := filepath.Glob(x.path("run/*.sock"))
		return err == nil && len(sockets) > 0
	}, time.Minute, time.Millisecond)
}

// start runs memfs, whose log is read from now on.
func (x *trouble) start(args ...string) { x.t.Helper(); x.follow(x.command(args...)) }

func (x *trouble) follow(cmd *exec.Cmd) {
	x.t.Helper()
	r, w, err := os.Pipe()
	require.NoError(x.t, err)
	cmd.Stderr = w
	require.NoError(x.t, cmd.Start())
	require.NoError(x.t, w.Close())
	events := make(chan event, 1000)
	go func() {
		defer close(events)
		for log := bufio.NewScanner(r); log.Scan(); {
			var e event
			if json.Unmarshal(log.Bytes(), &e) == nil {
				events <- e
			}
		}
	}()
	x.cmd, x.events = cmd, events
	x.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		for range events {
		}
		_ = cmd.Wait()
	})
}

// killed kills memfs, and returns when it is gone: a dead mount is left.
func (x *trouble) killed() {
	x.t.Helper()
	x.told(syscall.SIGKILL)
	for range x.events {
	}
}

// sees waits until the log has the code, in words of the manual.
func (x *trouble) sees(code string) { x.t.Helper(); x.says(code, x.manual[code]...) }

// says waits until the log has the code with any of the words.
func (x *trouble) says(code string, words ...string) {
	x.t.Helper()
	late := time.After(time.Minute)
	var other []string // it has the code, and other words
	for {
		select {
		case e, ok := <-x.events:
			require.True(x.t, ok, "the log ended without %s in these words, but with %q", code, other)
			if e.Code != code {
				continue
			}
			if slices.ContainsFunc(words, func(some string) bool { return strings.Contains(e.Message, some) }) {
				return
			}
			other = append(other, e.Message)
		case <-late:
			require.Fail(x.t, "never in these words", "%s, but %q", code, other)
		}
	}
}

// answers has every request answered with a status and a kind of error.
func (x *trouble) answers(status int, kind string) {
	x.answersSome(status, kind, func(*http.Request) bool { return true })
}

// answersSome does that for some requests.
func (x *trouble) answersSome(status int, kind string, which func(*http.Request) bool) {
	fault := func(w http.ResponseWriter, r *http.Request) bool {
		if which(r) {
			refuse(w, status, kind)
			return true
		}
		return false
	}
	x.fault.Store(&fault)
}

func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"type":"error","error":{"type":"` + kind + `","message":"staged"}}`))
}

func (x *trouble) file(name string) string { return filepath.Join(x.mnt, name) }

// write writes a file in the mount, sync asks for a pass, whatever it says.
func (x *trouble) write(name, text string) { x.t.Helper(); write(x.t, x.file(name), text) }
func (x *trouble) sync()                   { x.t.Helper(); x.run("sync", x.mnt) }
func (x *trouble) told(s os.Signal)        { x.t.Helper(); require.NoError(x.t, x.cmd.Process.Signal(s)) }

// sent is a memory that both sides have.
func (x *trouble) sent(path, text string) store.Memory {
	x.t.Helper()
	x.write(path, text)
	x.must("sync", x.mnt)
	return x.memory(x.client, path)
}

// edited is a change of a memory by somebody else.
func (x *trouble) edited(m store.Memory, text string) {
	x.t.Helper()
	content := []byte(text)
	_, err := x.client.Update(x.t.Context(), m.ID, store.Update{Content: &content, Expect: m.SHA})
	require.NoError(x.t, err)
}

func (x *trouble) created(path, text string) {
	x.t.Helper()
	_, err := x.client.Create(x.t.Context(), path, []byte(text))
	require.NoError(x.t, err)
}

// entries are the codes of the manual's log messages and their words, by
// section.
func entries(t *testing.T) map[string]map[string][]string {
	t.Helper()
	manual, err := os.ReadFile("../../docs/OPERATIONS.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(manual), "\n## Log messages\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	all := map[string]map[string][]string{}
	for _, section := range strings.Split(text, "\n### ")[1:] {
		name, rows, _ := strings.Cut(section, "\n")
		all[name] = map[string][]string{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+) \\|").FindAllStringSubmatch(rows, -1) {
			for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
				all[name][code[1]] = strings.Split(row[2], " / ")
			}
		}
	}
	return all
}
