package worker_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// leaseTTL is short enough to be waited for.
const leaseTTL = 2 * time.Second

// never is an interval at which no test sees a timed pass.
const never = "--sync-interval=1h"

// Heartbeats go on while SIGTERM drains a session; the final pass sends what
// the agent did, and the tool in flight is cut off.
func TestR15_SigtermDrains(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", map[string]string{"/old.md": "old\n", "/gone.md": "gone\n"})
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("cd "+h.at("notes")+" && echo new > new.md && mv old.md kept.md && rm gone.md"))
	assert.Empty(t, h.wire.writes(), "nothing is sent before the end")
	go func() { _, _ = x.Call(t.Context(), bash("sleep 1000")) }()
	w.eventually("executing tool", x.ID())

	slow := 2 * leaseTTL
	h.wire.hold(func(r *http.Request) {
		if r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/memories") {
			time.Sleep(slow) // the final pass outlasts the lease
		}
	})
	began := time.Now()
	assert.Equal(t, 0, w.end())
	assert.GreaterOrEqual(t, time.Since(began), slow)
	w.says("INFO", "told to end: the session gets its final pass", "told_to_end")
	beats := 0
	for _, beat := range h.wire.seen("POST", "/heartbeat") {
		if beat.at.After(began) {
			assert.Equal(t, http.StatusOK, beat.status)
			beats++
		}
	}
	assert.GreaterOrEqual(t, beats, 3)
	assert.Len(t, h.wire.seen("POST", "/stop"), 1)
	assert.Equal(t, map[string]string{"/new.md": "new\n", "/kept.md": "old\n"}, h.contents(notes))
}

// A lost lease ends tools and pushes at once; the item is not stopped, the
// edits stay in the journal, and whoever is offered the session sends them.
func TestLostLease(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", map[string]string{"/a.md": "a\n"})
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("echo edited > "+h.at("notes", "a.md")))
	go func() { _, _ = x.Call(t.Context(), bash("sleep 1000; echo after > "+h.at("notes", "a.md"))) }()
	w.eventually("executing tool", x.ID())
	released := make(chan struct{})
	h.wire.hold(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/work/poll") {
			<-released // so that nobody claims it meanwhile
		}
	})
	x.LoseLease()
	lost := time.Now()
	w.eventually("ERROR", "lease lost: heartbeat precondition failed", "lease_lost")
	w.eventually("INFO", "lease lost; released without stopping it", "released")
	w.eventually("WARN", "work item failed", "session_failed", `"exit_code": 6`)
	assert.Less(t, time.Since(lost), 10*time.Second)
	assert.Empty(t, h.wire.writes())
	assert.Empty(t, h.wire.seen("POST", "/stop"))
	assert.Len(t, h.wire.seen("POST", "/events"), 1, "the result of the call that was cut off is not sent")
	assert.Equal(t, map[string]string{"/a.md": "a\n"}, h.contents(notes))
	h.nothingMounted()

	close(released)
	h.interrupt(x) // the call that nobody answered
	assert.Equal(t, "edited", h.do(x, bash("cat "+h.at("notes", "a.md"))))
	h.finish(x)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/a.md": "edited\n"}, h.contents(notes))
}

// The queue can tell a worker to stop; it obeys, with a final pass.
func TestQueueStopsASession(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", nil)
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("echo new > "+h.at("notes", "new.md")))
	x.StopWork(false)
	h.stopped(x)
	w.eventually("INFO", "heartbeat reports shutdown", "told_to_stop")
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/new.md": "new\n"}, h.contents(notes))
}

// R16: after SIGKILL of everything, the next worker on the host cleans up,
// attaches again when the session is offered again, and sends what was left.
func TestR16_KillEverything(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", map[string]string{"/a.md": "a\n"})
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("cd "+h.at("notes")+" && echo edited > a.md && echo new > new.md"))
	require.NoError(t, syscall.Kill(w.serving(), syscall.SIGKILL))
	w.kill()
	require.Eventually(t, func() bool { return len(processes()) == 0 }, time.Minute, 10*time.Millisecond, "the tools end with their worker")

	again := h.poll(never)
	assert.Equal(t, "edited", h.do(x, bash("cat "+h.at("notes", "a.md"))))
	h.finish(x)
	assert.Equal(t, 0, again.end())
	assert.Equal(t, map[string]string{"/a.md": "edited\n", "/new.md": "new\n"}, h.contents(notes))
}

// R16: the same where only the process of one session dies: the worker lives,
// and serves it when its lease has expired.
func TestR16_KillASession(t *testing.T) {
	h := newHost(t, local.Options{LeaseTTL: leaseTTL})
	notes := h.store("notes", map[string]string{"/a.md": "a\n"})
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("echo edited > "+h.at("notes", "a.md")))
	require.NoError(t, syscall.Kill(w.serving(), syscall.SIGKILL))
	assert.Equal(t, "edited", h.do(x, bash("cat "+h.at("notes", "a.md"))))
	w.says("ERROR", "session_died")
	h.finish(x)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/a.md": "edited\n"}, h.contents(notes))
}

// A session outlives the death of the poller only to end well.
func TestKillThePoller(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("echo new > "+h.at("notes", "new.md")))
	w.kill()
	h.stopped(x)
	require.Eventually(t, func() bool { return len(processes()) == 0 }, time.Minute, 10*time.Millisecond)
	assert.Equal(t, map[string]string{"/new.md": "new\n"}, h.contents(notes))
}

// A foreign umount ends the session, R15, with what was written sent.
func TestR15_ForeignUmountEndsTheSession(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	w := h.poll(never)
	x := h.open(notes)
	h.do(x, bash("echo new > "+h.at("notes", "new.md")))
	code, out := exitCode(h.command("unmount", h.at("notes")))
	assert.Equal(t, 0, code, out)
	h.stopped(x)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/new.md": "new\n"}, h.contents(notes))
}

func TestEightStores(t *testing.T) {
	h := newHost(t, local.Options{})
	var stores []local.Attachment
	var command strings.Builder
	for i := range 8 {
		stores = append(stores, h.store(fmt.Sprint("store ", i), map[string]string{"/a.md": fmt.Sprint(i)}))
		fmt.Fprintf(&command, "cat %[1]s/a.md; echo new > %[1]s/b.md;", h.at(fmt.Sprint("store-", i)))
	}
	x := h.session(stores, bash(command.String()))
	w := h.poll()
	h.stopped(x)
	assert.Equal(t, []string{"01234567"}, texts(x))
	assert.Equal(t, 0, w.end())
	for i, at := range stores {
		assert.Equal(t, map[string]string{"/a.md": fmt.Sprint(i), "/b.md": "new\n"}, h.contents(at))
	}
}

// Edits reach the store on the interval, while the session runs: of twenty
// calls with an edit in every interval each is one version, under one id, and
// none is lost.
func TestR4_TwentyEditsInTwentyIntervals(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", map[string]string{"/a.md": "line 0\n"})
	w := h.poll("--sync-interval=1")
	x := h.open(notes)
	const calls = 20
	file, text := h.at("notes", "a.md"), "line 0\n"
	want := []string{text}
	for i := 1; i <= calls; i++ {
		line := fmt.Sprintf("line %d\n", i)
		switch i % 3 {
		case 0: // in place
			h.do(x, bash("echo '"+strings.TrimSpace(line)+"' >> "+file))
			text += line
		case 1: // temporary file and rename
			h.do(x, write(file, line))
			text = line
		case 2:
			h.do(x, edit(file, text, text+line))
			text += line
		}
		want = append(want, text)
		require.Eventually(t, func() bool { return h.contents(notes)["/a.md"] == text }, time.Minute, 50*time.Millisecond, "call %d", i)
	}
	h.finish(x)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, want, h.history(notes, "/a.md"))
	assert.Len(t, h.wire.writes(), calls, "nothing is sent twice")
}

// What the agent leaves running is killed, also what left its process group,
// and does not keep the mounts busy.
func TestLeftoversAreKilled(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	marker := fmt.Sprint(100_000 + os.Getpid())
	x := h.session([]local.Attachment{notes}, bash("cd "+h.at("notes")+" && (setsid nohup sleep "+marker+" >/dev/null 2>&1 &) ; pgrep -f 'sleep "+marker+"' >/dev/null && echo started"))
	w := h.poll()
	h.stopped(x)
	assert.Equal(t, []string{"started"}, texts(x))
	assert.Equal(t, 0, w.end())
	assert.NotContains(t, w.log.String(), "mount_busy")
	code, out := exitCode(h.shell("pgrep -f '[s]leep " + marker + "'"))
	assert.Equal(t, 1, code, out)
}

// Fifty sessions in a row leave no mount, process, directory, file, descriptor
// or goroutine.
func TestManySessionsLeaveNothing(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	require.NoError(t, os.Mkdir(h.path("tmp"), 0o1777))
	c := h.command("worker", "poll", "--workdir", h.path("work"), "--sync-interval=1", "--metrics-addr=0")
	c.Env = append(c.Env, "TMPDIR="+h.path("tmp"))
	w := h.run(c)
	const sessions, settled = 50, 5
	goroutines := 0
	for i := range sessions {
		x := h.start(local.SessionSpec{Stores: []local.Attachment{notes}, Script: local.Script{
			Skills: []local.Skill{sums}, Calls: []local.ToolCall{write(h.at("notes", fmt.Sprint(i)+".md"), fmt.Sprint(i))},
		}})
		h.stopped(x)
		require.NoDirExists(t, h.at("notes"))
		if i == settled {
			require.Eventually(t, func() bool { return len(processes()) == 1 }, time.Minute, 10*time.Millisecond)
			goroutines = w.goroutines()
		}
	}
	require.Eventually(t, func() bool { return len(processes()) == 1 }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return w.goroutines() <= goroutines }, time.Minute, 100*time.Millisecond, "more goroutines than the %d after %d sessions", goroutines, settled)
	h.nothingMounted()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.command.Process.Pid))
	require.NoError(t, err)
	assert.Less(t, len(open), 20)
	assert.Equal(t, 0, w.end())
	assert.Len(t, h.contents(notes), sessions)
	assert.Equal(t, []string{h.path("state", "mountpoints", "lock")}, h.stateFiles())
	for _, dir := range []string{"tmp", "run", "work/skills"} {
		left, err := os.ReadDir(h.path(dir))
		require.NoError(t, err)
		assert.Empty(t, left, dir)
	}
}

// goroutines is how many the poller has.
func (w *worker) goroutines() int {
	w.h.t.Helper()
	_, text := w.ask("/metrics")
	_, text, found := strings.Cut(text, "\ngo_goroutines ")
	require.True(w.h.t, found)
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.Atoi(text)
	require.NoError(w.h.t, err)
	return n
}
