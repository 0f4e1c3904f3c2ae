package worker_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
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
	for line := range strings.Lines(w.log.String()) {
		found := true
		for _, word := range words {
			found = found && strings.Contains(line, word)
		}
		if found {
			return
		}
	}
	assert.Fail(w.h.t, "the log does not say", "%q in\n%s", words, w.log.String())
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
