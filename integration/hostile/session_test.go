//go:build linux

package hostile

import (
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// serveSession has a worker serve one session, as the server tells it, until
// the log has word; then it ends the worker and returns the log.
func (h *host) serveSession(x *local.Session, word string, args ...string) string {
	h.t.Helper()
	require.NoError(h.t, os.MkdirAll(h.path("work"), 0o755))
	if os.Geteuid() == 0 {
		require.NoError(h.t, os.Chown(h.path("work"), 65534, 65534), "its owner runs the tools")
	}
	log, err := os.OpenFile(h.path("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, log.Close()) }()
	h.extra = []string{"ANTHROPIC_ENVIRONMENT_ID=" + local.DefaultEnvironment, "ANTHROPIC_ENVIRONMENT_KEY=" + h.server.EnvironmentKey()}
	cmd := exec.Command(program, append([]string{"worker", "poll", "--workdir", h.path("work"), "--sync-interval", "1"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.Stdout = h.env(), h.dir, log, log
	require.NoError(h.t, cmd.Start())
	p := &process{h: h, cmd: cmd, over: make(chan struct{})}
	go func() {
		defer close(p.over)
		_ = cmd.Wait() // ProcessState tells
	}()
	h.t.Cleanup(p.kill)
	assert.Eventually(h.t, func() bool { p.look(); return strings.Contains(h.log(), word) }, time.Minute, 10*time.Millisecond, "%s", tail(h.log()))
	h.server.lie(nil)
	assert.NoError(h.t, x.End(local.EndTerminated))
	p.stop()
	return h.log()
}

func (h *host) session() *local.Session {
	h.t.Helper()
	x, err := h.server.StartSession(h.t.Context(), local.SessionSpec{
		Stores: []local.Attachment{{Store: h.store}, {Store: h.newStore("other")}}, Script: local.Script{End: local.EndOpen}})
	require.NoError(h.t, err)
	return x
}

// resources passes a session's resources through f.
func resources(f func(resources []any)) twist {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/v1/sessions/") || strings.Count(r.URL.Path, "/") != 3 {
			return false
		}
		edit(w, r, honest, func(body object) {
			if all, ok := body["resources"].([]any); ok {
				f(all)
			}
		})
		return true
	}
}

// R1: a session mounts nothing where a session must not, and what stands there
// is left alone.
func TestR1_HostileSession(t *testing.T) {
	taken := t.TempDir()
	require.NoError(t, os.WriteFile(taken+"/theirs", []byte("theirs"), 0o600))
	for name, c := range map[string]struct {
		path func(h *host) string
		says string
	}{
		"the root":          {func(*host) string { return "/" }, "bad_session"},
		"the system's":      {func(*host) string { return "/etc/memfs-hostile" }, "bad_session"},
		"upwards":           {func(h *host) string { return h.mnt + "/../escape" }, "bad_session"},
		"relative":          {func(*host) string { return "escape" }, "bad_session"},
		"hidden":            {func(h *host) string { return h.path(".ssh") }, "bad_session"},
		"newline":           {func(h *host) string { return h.mnt + "/a\nb" }, "bad_session"},
		"escape sequence":   {func(h *host) string { return h.mnt + "/\x1b[2J\u009b" }, "bad_session"},
		"in another mount":  {func(h *host) string { return h.mnt + "/other/x" }, "paths_collide"},
		"what stands there": {func(*host) string { return taken }, "path_taken"},
		"the state":         {func(h *host) string { return h.path("state", "x") }, "nor the mount at"},
		"above the state":   {func(h *host) string { return h.dir }, "paths_collide"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			x := h.session()
			h.server.lie(resources(func(all []any) { all[0].(object)["mount_path"] = c.path(h) }))
			log := h.serveSession(x, `"code":"session_idle"`)
			assert.Contains(t, log, c.says)
			h.nothingElse()
			assert.NoDirExists(t, "/etc/memfs-hostile")
			text, err := os.ReadFile(taken + "/theirs")
			require.NoError(t, err)
			assert.Equal(t, "theirs", string(text))
		})
	}
}

// R19: a hostile name of a store does not get into the log as it is, nor out of
// the mounts' parent.
func TestR19_HostileStoreName(t *testing.T) {
	h := newHost(t)
	x := h.session()
	h.server.lie(resources(func(all []any) {
		all[0].(object)["mount_path"] = nil
		all[0].(object)["name"] = "../../../etc/\x1b]0;x\x07\n{\"level\":\"error\"}\u202e\u009b"
	}))
	log := h.serveSession(x, `"code":"attached"`, "--root", h.mnt)
	assert.Contains(t, log, h.mnt+"/etc-0-x-level-error")
	h.nothingElse()
}

// R19: a work item's secret is a token that can be used, or none; it is in no
// log.
func TestR19_HostileSecret(t *testing.T) {
	const canary = "sk-ant-req-canary"
	encode := base64.URLEncoding.EncodeToString
	for name, secret := range map[string]string{
		"a header in it": encode([]byte(`{"sessions_token":"` + canary + `\r\nX-Admin: 1"}`)),
		"no JSON":        encode([]byte(canary)),
		"an array":       encode([]byte(`["` + canary + `"]`)),
		"a number":       encode([]byte(`{"sessions_token":1}`)),
		"deep":           encode([]byte(`{"sessions_token":` + strings.Repeat("[", 100_000))),
		"huge":           encode([]byte(`{"sessions_token":"` + canary + strings.Repeat("x", 600_000) + `"}`)),
		"no base64":      canary + " \x1b[2J\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			x, err := h.server.StartSession(t.Context(), local.SessionSpec{Stores: []local.Attachment{{Store: h.store}},
				Script: local.Script{End: local.EndOpen}, Faults: local.Faults{Secret: &secret}})
			require.NoError(t, err)
			log := h.serveSession(x, `"work_id"`)
			assert.NotContains(t, log, canary)
			assert.NotContains(t, log, secret)
			h.nothingElse()
		})
	}
}

// R19: a poll's, a session's and an event stream's redirects are not followed.
func TestR19_WorkerRedirects(t *testing.T) {
	h := newHost(t)
	x := h.session()
	stranger := make(chan *http.Request, 100)
	h.server.lie(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.URL.Query().Has("stranger") {
			stranger <- r
			return false
		}
		if strings.HasPrefix(r.URL.Path, "/v1/sessions/") {
			w.Header().Set("Location", h.server.url+r.URL.Path+"?stranger")
			w.WriteHeader(307)
			return true
		}
		return false
	})
	h.serveSession(x, `"code":"session_lookup"`)
	assert.Empty(t, stranger)
	h.nothingElse()
}
