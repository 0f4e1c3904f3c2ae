package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

// program is the memfs binary that the tests run; the mounts are served by it,
// never by the test's own process.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "memfs-cmd")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "memfs")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build memfs:", err)
		return 1
	}
	return m.Run()
}

// host is a machine of its own for memfs: no settings but the test's, and all
// it keeps under one directory.
type host struct {
	t   *testing.T
	dir string
	env []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "h")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return &host{t: t, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"RUNTIME_DIRECTORY=" + filepath.Join(dir, "run"), "STATE_DIRECTORY=" + filepath.Join(dir, "state"),
	}}
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

// result is what a run of memfs left.
type result struct {
	code           int
	stdout, stderr string
}

func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), program, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	return cmd
}

func (h *host) run(args ...string) result {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(h.t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs memfs and returns what it printed; it has to succeed.
func (h *host) must(args ...string) string {
	h.t.Helper()
	r := h.run(args...)
	require.Equal(h.t, exitcode.OK, r.code, "memfs %s: %s", strings.Join(args, " "), r.stderr)
	return r.stdout
}

// with is the same host with other settings.
func (h *host) with(env ...string) *host {
	other := *h
	other.env = append(append([]string{}, h.env...), env...)
	return &other
}

// local is the same host with an embedded store in this process.
func (h *host) local() *host { return h.with("MEMFS_LOCAL=" + h.path("stores")) }

// fails runs memfs, which has to end with the code and to say one line.
func (h *host) fails(code int, says string, args ...string) {
	h.t.Helper()
	r := h.run(args...)
	assert.Equal(h.t, code, r.code, "memfs %s: %s", strings.Join(args, " "), r.stderr)
	last := r.stderr[strings.LastIndex(strings.TrimSuffix(r.stderr, "\n"), "\n")+1:]
	assert.Contains(h.t, last, says)
	assert.True(h.t, strings.HasPrefix(last, "memfs: "), last)
	assert.NotContains(h.t, r.stderr, "Usage:")
	assert.NotContains(h.t, r.stderr, "goroutine")
}

// background starts memfs and ends it with the test.
func (h *host) background(stdout *os.File, args ...string) *exec.Cmd {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout = h.env, h.dir, stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	require.NoError(h.t, cmd.Start())
	h.t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	return cmd
}
