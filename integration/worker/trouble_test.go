package worker_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store/local"
)

// What OPERATIONS.md says of the worker's log is brought about, here and by the
// other tests: cmd/memfs has the list.

// Attaches that fail.

func TestAttachIntoTheStateDirectory(t *testing.T) {
	h := newHost(t, local.Options{})
	at := h.store("notes", nil)
	at.MountPath = ptr(h.path("state", "notes"))
	h.refused(h.session([]local.Attachment{at}, bash("true")), nil, "memory store download failed", "attach_failed", "the state directory must not lie inside")
}

// The parent of an isolated session's mounts is covered: it may hold nothing
// that the worker needs.
func TestIsolatedMountsBesideTheWorkdir(t *testing.T) {
	h := newHost(t, local.Options{})
	at := h.store("notes", nil)
	at.MountPath = ptr(h.path("notes"))
	h.refused(h.session([]local.Attachment{at}, bash("true")), []string{"--isolate"}, "memory store download failed", "cannot_isolate", h.dir+" holds "+h.path("work"))
}

// The operator has mounted by hand what the session has attached.
func TestStateInUse(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.session([]local.Attachment{h.store("notes", nil)}, bash("true"))
	c := h.command("mount", "--session", x.ID())
	c.Env = append(c.Env, "ANTHROPIC_API_KEY=any")
	byHand := h.run(c)
	byHand.eventually("mounted", h.at("notes"))
	h.refused(x, nil, "memory store download failed", "state_in_use")
	assert.Equal(t, 0, byHand.end())
}

func TestFUSERequired(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.session([]local.Attachment{h.store("notes", nil)}, bash("true"))
	w := h.run(h.withoutFUSE())
	h.stopped(x)
	assert.Empty(t, x.Answers())
	assert.Equal(t, 0, w.end())
	w.says("ERROR", "memory store download failed", "host_not_ready", "--fuse=auto")
}

// An item that cannot be served at all is stopped, with the reason.
func TestRunWithoutWorkdir(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.session([]local.Attachment{h.store("notes", nil)}, bash("true"))
	text, _ := h.claim()
	c := h.command("worker", "run", "--workdir", h.path("none"))
	c.Stdin = strings.NewReader(text)
	w := h.run(c)
	assert.Equal(t, 2, w.wait())
	h.stopped(x)
	w.says("ERROR", "work item failed", "not_served", h.path("none"))
	w.says("WARN", "session_idle")
}

// The queue.

// A heartbeat that fails is sent again.
func TestAHeartbeatFails(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: 3 * leaseTTL})
	x := h.open()
	w := h.poll(never)
	h.do(x, bash("true"))
	h.wire.refuse("/heartbeat", http.StatusInternalServerError)
	w.eventually("WARN", "transient heartbeat failure", "heartbeat_failed")
	h.wire.answer(nil)
	h.finish(x)
	assert.Equal(t, 0, w.end())
	assert.False(t, w.log.has("lease_expired"))
}

// A lease that cannot be extended in time is lost; once the queue answers, the
// session is served again.
func TestTheLeaseExpires(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	x := h.open()
	w := h.poll(never)
	h.do(x, bash("true"))
	h.wire.refuse("/heartbeat", http.StatusInternalServerError)
	w.eventually("ERROR", "heartbeat staleness ceiling exceeded; lease presumed expired", "lease_expired")
	w.eventually("released")
	h.wire.answer(nil)
	assert.Equal(t, "again", h.do(x, bash("echo again")))
	h.finish(x)
	assert.Equal(t, 0, w.end())
}

// What the queue says of a lease ends the session with its final pass.
func TestTheQueueEndsTheLease(t *testing.T) {
	for code, c := range map[string]struct {
		status     int
		body, says string
	}{
		"heartbeat_refused":  {http.StatusForbidden, "{}", "permanent heartbeat failure"},
		"lease_not_extended": {http.StatusOK, `{"lease_extended":false,"state":"active","ttl_seconds":60,"last_heartbeat":"2026-01-01T00:00:00Z"}`, "lease not extended; shutting down"},
	} {
		t.Run(code, func(t *testing.T) {
			h := newHost(t, local.Options{LeaseTTL: 3 * leaseTTL})
			notes := h.store("notes", nil)
			x := h.open(notes)
			w := h.poll(never)
			h.do(x, bash("echo new > "+h.at("notes", "new.md")))
			h.wire.answer(func(rw http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/heartbeat") {
					return false
				}
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(c.status)
				_, _ = rw.Write([]byte(c.body))
				return true
			})
			h.stopped(x)
			w.says(c.says, code)
			h.wire.answer(nil)
			assert.Equal(t, map[string]string{"/new.md": "new\n"}, h.contents(notes))
			assert.Equal(t, 0, w.end())
		})
	}
}

func TestTheItemCannotBeStopped(t *testing.T) {
	h := newHost(t, local.Options{})
	h.wire.refuse("/stop", http.StatusForbidden)
	h.session(nil, bash("true"))
	w := h.poll()
	w.eventually("WARN", "force-stop on exit failed", "stop_failed")
	assert.Equal(t, 0, w.end())
}

func TestTheEventsBreakOff(t *testing.T) {
	h := newHost(t, local.Options{})
	h.wire.refuse("/stream", http.StatusForbidden)
	x := h.session(nil, bash("true"))
	w := h.poll()
	w.eventually("WARN", "session tool runner exited with error", "runner_failed")
	h.stopped(x)
	assert.Equal(t, 0, w.end())
}

// The tools.

// Tools that do not end when they are told to are killed.
func TestToolsThatDoNotEnd(t *testing.T) {
	h := newHost(t, local.Options{})
	w := h.poll()
	x := h.open()
	h.do(x, bash("true"))
	serving := w.serving()
	for _, pid := range processes() {
		if pid != serving && pid != w.command.Process.Pid {
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		}
	}
	h.finish(x)
	w.eventually("WARN", "the tools do not end and are killed", "tools_killed")
	assert.Equal(t, 0, w.end())
}

// A session goes on without skills for which there is no room.
func TestSkillsWithoutRoom(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.start(local.SessionSpec{Script: local.Script{Skills: []local.Skill{sums}, Calls: []local.ToolCall{bash("echo served")}}})
	c := h.command("worker", "poll", "--workdir", h.path("work"))
	c.Env = append(c.Env, "TMPDIR="+h.path("none"))
	w := h.run(c)
	h.stopped(x)
	assert.Equal(t, []string{"served"}, texts(x))
	assert.Equal(t, 0, w.end())
	w.says("WARN", "skill setup failed", "skills_failed", h.path("none"))
}

// Downloaded skills that cannot be removed again are named.
func TestSkillsThatStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount something there")
	}
	h := newHost(t, local.Options{})
	require.NoError(t, os.Mkdir(h.path("tmp"), 0o1777))
	stuck := make(chan string, 1)
	var once sync.Once
	h.wire.hold(func(r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/content") {
			return
		}
		once.Do(func() {
			found, err := filepath.Glob(h.path("tmp", "memfs-skills-*"))
			if !assert.NoError(t, err) || !assert.Len(t, found, 1) {
				return
			}
			dir := filepath.Join(found[0], "stuck")
			if assert.NoError(t, os.Mkdir(dir, 0o700)) && assert.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "")) {
				stuck <- dir
			}
		})
	})
	t.Cleanup(func() {
		for len(stuck) > 0 {
			assert.NoError(t, unix.Unmount(<-stuck, unix.MNT_DETACH))
		}
	})
	x := h.start(local.SessionSpec{Script: local.Script{Skills: []local.Skill{sums}, Calls: []local.ToolCall{bash("cat skills/sums/SKILL.md")}}})
	c := h.command("worker", "poll", "--workdir", h.path("work"))
	c.Env = append(c.Env, "TMPDIR="+h.path("tmp"))
	w := h.run(c)
	h.stopped(x)
	assert.Equal(t, []string{"How to add."}, texts(x))
	assert.Equal(t, 0, w.end())
	w.says("WARN", "skill cleanup failed", "skills_left", h.path("tmp", "memfs-skills-"))
}
