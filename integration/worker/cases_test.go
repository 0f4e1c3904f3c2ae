package worker_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// Faults that users of other filesystems reported, in kind; doc.go has the list.

// Ready means mounted: what an agent writes at a mount path while the session
// starts, as what is left of another session may, is refused or in the store,
// and never below the mount.
func TestCase_ReadyMeansMounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the agent is memfs's own user")
	}
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	early := h.shell("until { echo early > " + h.at("notes", "early.md") + "; } 2>/dev/null; do :; done; echo yes")
	early.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	written := &logbook{}
	early.Stdout = written
	require.NoError(t, early.Start())
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("grep -q "+h.at("notes")+" /proc/mounts"))
	require.Eventually(t, func() bool { return written.has("yes") }, time.Minute, 10*time.Millisecond, "once it is mounted, it is theirs")
	require.NoError(t, early.Wait())
	h.finish(x)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/early.md": "early\n"}, h.contents(notes))
	assert.NoDirExists(t, h.at("notes"), "nothing was left below the mount")
}

// A credential or a text is on no command line, also not for root of the host,
// nor in the environment of what serves a session.
func TestCase_SecretsOnCommandLines(t *testing.T) {
	h := newHost(t, local.Options{})
	w := h.poll("--log-level=debug", "--trace")
	x := h.open(h.store("notes", map[string]string{"/a.md": "private text"}))
	h.do(x, bash("cat "+h.at("notes", "a.md")+"; echo more private text > "+h.at("notes", "b.md")))
	pids := processes()
	require.GreaterOrEqual(t, len(pids), 4, "poll, run, and two for the tools")
	for _, pid := range pids {
		files := []string{"cmdline", "environ"}
		if pid == w.command.Process.Pid {
			files = files[:1] // it was given the key there
		}
		for _, file := range files {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if os.IsPermission(err) {
				continue
			}
			require.NoError(t, err)
			h.hasNoSecret("/proc/*/"+file, string(text))
			assert.NotContains(t, string(text), "private text")
		}
	}
	h.finish(x)
	assert.Equal(t, 0, w.end())
	h.hasNoSecret("the log", w.log.String())
	assert.NotContains(t, w.log.String(), "private text")
}

// R10: a shell can change its copy of a read-only store; the store does not
// hear of it, and its next change puts the file right.
func TestCase_ReadOnlyStore(t *testing.T) {
	h := newHost(t, local.Options{})
	rules := h.store("rules", map[string]string{"/a.md": "one two three\n", "/b.md": "b\n", "/c.md": "c\n"})
	rules.ReadOnly = true
	w := h.poll("--sync-interval=1")
	x := h.open(rules)
	h.do(x, bash("cd "+h.at("rules")+" && echo local > a.md && rm b.md && mv c.md d.md && echo new > new.md && cat a.md"))
	before := h.contents(rules)
	for path, text := range map[string]string{"/a.md": "two\n", "/b.md": "back\n"} {
		h.change(rules, path, text)
	}
	h.do(x, bash("cd "+h.at("rules")+" && (for i in $(seq 600); do grep -qx two a.md && grep -qx back b.md && exit; sleep 0.1; done; exit 1)"))
	h.finish(x)
	assert.Equal(t, 0, w.end())
	before["/a.md"], before["/b.md"] = "two\n", "back\n"
	assert.Equal(t, before, h.contents(rules))
	assert.Empty(t, h.wire.writes())
}

// A stop that comes while the stores are being attached: nothing is left, the
// item is stopped, and no tool ran. The lease is held meanwhile.
func TestCase_StopDuringStart(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", map[string]string{"/a.md": "a\n"})
	asked, release := make(chan struct{}, 100), make(chan struct{})
	h.wire.hold(func(r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/memor") {
			asked <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	x := h.session([]local.Attachment{notes}, bash("true"))
	w := h.poll()
	<-asked
	time.Sleep(2 * leaseTTL)
	for _, beat := range h.wire.seen("POST", "/heartbeat") {
		assert.Equal(t, http.StatusOK, beat.status)
	}
	assert.GreaterOrEqual(t, len(h.wire.seen("POST", "/heartbeat")), 3)
	require.NoError(t, w.command.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 0, w.wait())
	close(release)
	assert.Empty(t, x.Answers())
	assert.Len(t, h.wire.seen("POST", "/stop"), 1)
	h.nothingLeft()
}
