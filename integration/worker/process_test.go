package worker_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// worker is a running memfs process.
type worker struct {
	h       *host
	command *exec.Cmd
	log     *logbook
	exited  chan struct{}
}

// environment is that of a worker: nothing of this process's own but what a
// program needs.
func (h *host) environment(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.path("home"), "GORACE=atexit_sleep_ms=0",
		"RUNTIME_DIRECTORY=" + h.path("run"), "STATE_DIRECTORY=" + h.path("state"),
		"ANTHROPIC_BASE_URL=" + h.url, "ANTHROPIC_ENVIRONMENT_ID=" + local.DefaultEnvironment,
		"ANTHROPIC_ENVIRONMENT_KEY=" + h.EnvironmentKey(),
	}, more...)
}

// poll starts a polling worker, which is ended with the test.
func (h *host) poll(args ...string) *worker {
	h.t.Helper()
	return h.run(h.command(append([]string{"worker", "poll", "--workdir", h.path("work"), "--sync-interval", "1"}, args...)...))
}

func (h *host) command(args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Env, c.Dir = h.environment(), h.dir
	return c
}

// withoutFUSE is a polling worker that cannot open /dev/fuse.
func (h *host) withoutFUSE(args ...string) *exec.Cmd {
	h.t.Helper()
	if os.Geteuid() != 0 {
		h.t.Skip("only root can take /dev/fuse away")
	}
	c := h.command(append([]string{"worker", "poll", "--workdir", h.path("work")}, args...)...)
	hidden := apart(`mount --bind /dev/fuse /dev/fuse && mount -o remount,bind,nodev /dev/fuse && exec "$0" "$@"`, c.Args...)
	hidden.Env, hidden.Dir = c.Env, c.Dir
	return hidden
}

// apart runs a script in a mount namespace of its own, without the memfs mounts
// that others have. Where mounts are private, as in most containers, a copy would
// keep them in use.
func apart(script string, args ...string) *exec.Cmd {
	const forget = `for at in $(awk '$3 == "fuse.memfs" { print $2 }' /proc/self/mounts); do umount -l "$(printf %b "$at")"; done; `
	return exec.Command("unshare", append([]string{"--mount", "sh", "-c", forget + script}, args...)...)
}

// shell is a command of the host's operator.
func (h *host) shell(command string) *exec.Cmd { return exec.Command("sh", "-c", command) }

func (h *host) run(c *exec.Cmd) *worker {
	h.t.Helper()
	w := &worker{h: h, command: c, log: &logbook{}, exited: make(chan struct{})}
	c.Stderr = w.log
	c.WaitDelay = 10 * time.Second
	require.NoError(h.t, c.Start())
	go func() {
		defer close(w.exited)
		_ = c.Wait() // ProcessState tells how it ended
	}()
	h.t.Cleanup(func() {
		w.end()
		if h.t.Failed() {
			h.t.Log("worker:\n" + w.log.String())
		}
	})
	return w
}

// end tells the worker to end and returns its exit code.
func (w *worker) end() int {
	w.h.t.Helper()
	_ = w.command.Process.Signal(syscall.SIGTERM)
	return w.wait()
}

func (w *worker) wait() int {
	w.h.t.Helper()
	select {
	case <-w.exited:
	case <-time.After(time.Minute):
		_ = w.command.Process.Kill()
		<-w.exited
		assert.Fail(w.h.t, "the worker did not end")
	}
	return w.command.ProcessState.ExitCode()
}

// kill ends the worker as the kernel does when memory runs out, with the
// processes it started where children is set.
func (w *worker) kill() {
	w.h.t.Helper()
	require.NoError(w.h.t, w.command.Process.Kill())
	<-w.exited
}

// says fails the test unless there is a line in the log with all of words.
func (w *worker) says(words ...string) {
	w.h.t.Helper()
	assert.True(w.h.t, w.log.has(words...), "the log does not say %q:\n%s", words, w.log)
}

// eventually waits until the log has a line with all of words.
func (w *worker) eventually(words ...string) {
	w.h.t.Helper()
	require.Eventually(w.h.t, func() bool { return w.log.has(words...) }, time.Minute, 10*time.Millisecond, "the log never says %q", words)
}

// processes are those that run memfs.
func processes() []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && path == program {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// serving is the process that serves a session.
func (w *worker) serving() int {
	w.h.t.Helper()
	for _, other := range processes() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", other))
		if err != nil {
			continue
		}
		var state string
		var parent int
		_, err = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
		require.NoError(w.h.t, err)
		if parent == w.command.Process.Pid {
			return other
		}
	}
	require.Fail(w.h.t, "no session is served")
	return 0
}

// logbook is what a worker writes. It is safe for concurrent use.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// exitCode runs a command to its end.
func exitCode(c *exec.Cmd) (int, string) {
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1, err.Error()
	}
	return c.ProcessState.ExitCode(), string(out)
}

// has reports whether one line has all of words.
func (l *logbook) has(words ...string) bool {
	for line := range strings.Lines(l.String()) {
		found := true
		for _, word := range words {
			found = found && strings.Contains(line, word)
		}
		if found {
			return true
		}
	}
	return false
}
