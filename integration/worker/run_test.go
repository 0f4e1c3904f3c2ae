package worker_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// claim takes the oldest item off the queue as a dispatcher does, and returns
// it as the poll wrote it.
func (h *host) claim() (text string, item struct{ ID, Secret string }) {
	h.t.Helper()
	const queue = "/v1/environments/" + local.DefaultEnvironment + "/work/"
	text = h.ask(http.MethodGet, queue+"poll")
	require.NoError(h.t, json.Unmarshal([]byte(text), &item))
	h.ask(http.MethodPost, queue+item.ID+"/ack")
	return text, item
}

func (h *host) ask(method, path string) string {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, nil)
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.EnvironmentKey())
	req.Header.Set("anthropic-beta", "managed-agents-2026-04-01")
	res, err := new(http.Client).Do(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	require.Equal(h.t, http.StatusOK, res.StatusCode, string(text))
	return string(text)
}

// runs has memfs worker run serve a claimed item.
func (h *host) runs(stdin string, environment ...string) (int, string) {
	h.t.Helper()
	c := h.command("worker", "run", "--workdir", h.path("work"))
	c.Env, c.Stdin = append(c.Env, environment...), strings.NewReader(stdin)
	return exitCode(c)
}

func TestRunAClaimedItem(t *testing.T) {
	for _, from := range []string{"variables", "standard input", "both"} {
		t.Run(from, func(t *testing.T) {
			h := newHost(t, local.Options{})
			notes := h.store("notes", nil)
			x := h.session([]local.Attachment{notes}, write(h.at("notes", "a.md"), "a"))
			text, item := h.claim()
			var environment []string
			if from != "standard input" {
				environment = []string{"ANTHROPIC_WORK_ID=" + item.ID, "ANTHROPIC_SESSION_ID=" + x.ID()}
			}
			if from == "variables" {
				environment, text = append(environment, "ANTHROPIC_WORK_SECRET="+item.Secret), "this is not read"
			}
			code, log := h.runs(text, append(environment, "ANTHROPIC_ENVIRONMENT_KEY=")...)
			assert.Equal(t, 0, code, log)
			assert.Equal(t, map[string]string{"/a.md": "a"}, h.contents(notes))
			require.NoError(t, x.WaitWork(h.within(), "stopped"))
			assert.NotContains(t, log, item.Secret)
		})
	}
}

// The exit code says what kept a session from being served.
func TestRunExitCodes(t *testing.T) {
	h := newHost(t, local.Options{})
	secret := base64.RawURLEncoding.EncodeToString([]byte(`{"other":"x"}`))
	for _, c := range []struct {
		name, stdin, says string
		code              int
		environment       []string
	}{
		{"nothing", "", "set ANTHROPIC_WORK_ID", 2, nil},
		{"no JSON", "{", "not a work item's JSON", 2, nil},
		{"too long", `{"id":"` + strings.Repeat("x", 2<<20), "longer than", 2, nil},
		{"no session", `{"id":"work_1","environment_id":"env_local"}`, "set ANTHROPIC_SESSION_ID", 2, nil},
		{"no key", `{"id":"work_1","environment_id":"e","data":{"type":"session","id":"s"}}`, "set ANTHROPIC_ENVIRONMENT_KEY", 2, []string{"ANTHROPIC_ENVIRONMENT_KEY="}},
		{"no token", `{"id":"work_1","environment_id":"e","data":{"type":"session","id":"s"},"secret":"` + secret + `"}`, "carries no sessions token", 2, []string{"ANTHROPIC_ENVIRONMENT_KEY="}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, log := h.runs(c.stdin, c.environment...)
			assert.Equal(t, c.code, code, log)
			assert.Contains(t, log, c.says)
			assert.NotContains(t, log, secret)
		})
	}
	x := h.session([]local.Attachment{h.store("taken", nil)}, bash("true"))
	require.NoError(t, os.MkdirAll(h.at("taken", "theirs"), 0o755))
	text, _ := h.claim()
	code, log := h.runs(text)
	assert.Equal(t, 4, code, log)
	require.NoError(t, x.WaitWork(h.within(), "stopped"))
	require.NoError(t, os.RemoveAll(h.mounts))
}

// An item is never read from a terminal, where nobody would know what to type.
func TestRunReadsNoTerminal(t *testing.T) {
	h := newHost(t, local.Options{})
	terminal, stdin, err := pty.Open()
	require.NoError(t, err)
	defer terminal.Close()
	c := h.command("worker", "run", "--workdir", h.path("work"))
	c.Stdin = stdin
	w := h.run(c)
	require.NoError(t, stdin.Close())
	assert.Equal(t, 2, w.wait())
	w.says("set ANTHROPIC_WORK_ID")
}

// A poller can hand its items to a script, which serves them with worker run.
func TestOnWork(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	script := h.path("on-work")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n[ -n \"$ANTHROPIC_SESSION_ID\" ] && echo called >> "+h.path("calls")+" && exec "+program+" worker run --workdir "+h.path("work")+"\n"), 0o755))
	x := h.session([]local.Attachment{notes}, write(h.at("notes", "a.md"), "a"))
	w := h.poll("--on-work", script)
	h.stopped(x)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/a.md": "a"}, h.contents(notes))
	text, err := os.ReadFile(h.path("calls"))
	require.NoError(t, err)
	assert.Equal(t, "called\n", string(text))

	y := h.session([]local.Attachment{notes}, bash("true"))
	w = h.poll("--on-work", h.path("none"))
	h.stopped(y)
	assert.Equal(t, 0, w.end())
	w.says("ERROR", "not_started")
}

func TestPollUsage(t *testing.T) {
	h := newHost(t, local.Options{})
	for says, change := range map[string]func(*exec.Cmd){
		"name the environment":           func(c *exec.Cmd) { c.Env = append(c.Env, "ANTHROPIC_ENVIRONMENT_ID=") },
		"set ANTHROPIC_ENVIRONMENT_KEY":  func(c *exec.Cmd) { c.Env = append(c.Env, "ANTHROPIC_ENVIRONMENT_KEY=") },
		"at least 1":                     func(c *exec.Cmd) { c.Args = append(c.Args, "--max-sessions=0") },
		"a worker needs a server":        func(c *exec.Cmd) { c.Args = append(c.Args, "--local="+h.path("x")) },
		"there is no user \"nobody-is\"": func(c *exec.Cmd) { c.Args = append(c.Args, "--tools-user=nobody-is") },
		"is no directory":                func(c *exec.Cmd) { c.Args = append(c.Args, "--workdir="+h.path("none")) },
		"one of require, auto, off":      func(c *exec.Cmd) { c.Args = append(c.Args, "--fuse=perhaps") },
	} {
		c := h.command("worker", "poll")
		change(c)
		code, out := exitCode(c)
		assert.Equal(t, 2, code, out)
		assert.Contains(t, out, says)
	}
	c := h.command("worker", "poll", "--workdir", h.path("work"))
	c.Env = append(c.Env, "ANTHROPIC_ENVIRONMENT_KEY=sk-ant-oat01-wrong")
	code, out := exitCode(c)
	assert.Equal(t, 5, code, out)
	assert.Contains(t, out, "the environment key was refused")
}
