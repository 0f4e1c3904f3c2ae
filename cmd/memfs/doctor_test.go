package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store"
)

func TestDoctor(t *testing.T) {
	h := newHost(t)
	write(t, h.path("file"), "")
	h.fails(exitcode.HostNotReady, "this host is not ready to mount: see", "doctor", "--root", h.path("file/memory"))

	r := h.run("doctor", "--json", "--root", h.path("memory"))
	var report struct {
		Verdict  string
		Blockers []string
		Checks   []struct{ Name, Status, Detail string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	assert.NotEmpty(t, report.Checks)
	assert.Equal(t, report.Verdict == "fuse", r.code == exitcode.OK, "exit code %d for %s", r.code, report.Verdict)
	assert.Equal(t, report.Verdict == "fuse", len(report.Blockers) == 0)
	assert.NoDirExists(t, h.path("memory"), "it changes nothing")
}

// checks are those of a report by name.
func (h *host) checks(args ...string) map[string]struct{ Status, Detail, Remedy string } {
	h.t.Helper()
	var report struct {
		Checks []struct{ Name, Status, Detail, Remedy string }
	}
	require.NoError(h.t, json.Unmarshal([]byte(h.run(append([]string{"doctor", "--json"}, args...)...).stdout), &report))
	got := map[string]struct{ Status, Detail, Remedy string }{}
	for _, c := range report.Checks {
		got[c.Name] = struct{ Status, Detail, Remedy string }{c.Status, c.Detail, c.Remedy}
	}
	return got
}

func TestDoctorLooksAtTheAPIAndAtWhatIsLeft(t *testing.T) {
	h := newHost(t)
	root := h.path("memory")
	got := h.with("ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=any").checks("--root", root)
	assert.Equal(t, "warn", got["API"].Status)
	assert.Contains(t, got["API"].Remedy, "ANTHROPIC_BASE_URL")
	assert.Equal(t, "ok", got["leftovers"].Status)
	assert.Equal(t, "ok", got["mount paths"].Status)
	assert.Contains(t, h.with("ANTHROPIC_ENVIRONMENT_KEY=k", "ANTHROPIC_API_KEY=any").checks("--root", root)["API"].Detail, "an API key is on a host")
	require.NoError(t, os.MkdirAll(h.path("memory/mine"), 0o755))
	local := h.local()
	local.store("notes")
	got = local.checks("--root", root)
	assert.Equal(t, "ok", got["API"].Status)
	assert.Contains(t, got["API"].Detail, "1 store")
	assert.Contains(t, got["mount paths"].Detail, h.path("memory/mine"))
}

func TestDoctorFixesWhatIsSafe(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	cmd := h.background(nil, "mount", "notes:"+h.path("memory/notes"), "--sync-interval=3600")
	h.await(h.path("memory/notes/" + store.MarkerName))
	write(t, h.path("memory/notes/a.md"), "one\n")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, os.Chmod(h.path("state"), 0o755))
	assert.Equal(t, "fail", h.checks("--root", h.path("memory"))["state directory"].Status)

	require.NoError(t, os.Mkdir(h.path("shared"), 0o755))
	write(t, h.path("shared/theirs"), "")
	shared := h.checks("--fix", "--state-dir", h.path("shared"), "--root", h.path("elsewhere"))["state directory"]
	assert.Equal(t, "choose a directory of your own with --state-dir DIR: this one is not memfs's alone", shared.Remedy)
	info, err := os.Stat(h.path("shared"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "it is left as it is")

	r := h.run("doctor", "--fix", "--root", h.path("memory"))
	assert.Equal(t, "fixed: closed "+h.path("state")+" to other users\nfixed: took the dead mount at "+h.path("memory/notes")+" away\n", r.stderr)
	assert.NoDirExists(t, h.path("memory"))
	got := h.checks("--root", h.path("memory"))
	assert.NotEqual(t, "fail", got["state directory"].Status)
	assert.Equal(t, "not sent, of earlier sessions: 1 edit", got["leftovers"].Detail)
	h.must("mount", "notes:"+h.path("memory/notes"), "--daemon")
	assert.Equal(t, "one\n", read(t, h.path("memory/notes/a.md")))
}

func TestDoctorComparesTheClocks(t *testing.T) {
	h := newHost(t)
	root := h.path("memory")
	for _, c := range []struct {
		ahead          time.Duration // of the API
		status, detail string
	}{
		{0, "ok", "as the API's"},
		{-30 * time.Second, "ok", "as the API's"},
		{10 * time.Minute, "warn", "behind the API's: certificates"},
		{-10 * time.Minute, "warn", "ahead of the API's: certificates"},
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(c.ahead).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusUnauthorized)
		}))
		got := h.with("ANTHROPIC_BASE_URL="+api.URL, "ANTHROPIC_ENVIRONMENT_KEY=any").checks("--root", root)
		api.Close()
		assert.Equal(t, c.status, got["clock"].Status, c.ahead)
		assert.Contains(t, got["clock"].Detail, c.detail, c.ahead)
		assert.Equal(t, c.status == "warn", strings.HasPrefix(got["clock"].Remedy, "synchronize it: timedatectl"), c.ahead)
		assert.Equal(t, api.URL+" answers; a worker's key, sessions bring their own token", got["API"].Detail)
	}
	gone := h.with("ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_ENVIRONMENT_KEY=any").checks("--root", root)
	assert.Equal(t, "not compared: the API does not answer", gone["clock"].Detail)
	assert.Equal(t, "warn", gone["API"].Status, "a worker needs to reach it, too")
	assert.Equal(t, "not compared: the embedded store has this host's", h.local().checks("--root", root)["clock"].Detail)
}
