//go:build linux

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
	"memfs/store/local"
)

// host is a machine of its own for memfs: its directories and one store.
type host struct {
	t      testing.TB
	dir    string
	server *server
	store  string
	mnt    string
	args   []string // more of memfs mount
}

func newHost(t testing.TB) *host {
	t.Helper()
	return newHostOf(t, local.Options{})
}

// newHostOf is newHost with a server of these options.
func newHostOf(t testing.TB, o local.Options) *host {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("this host cannot mount: ", err)
	} else {
		require.NoError(t, f.Close())
	}
	dir, err := os.MkdirTemp("", "crash") // short, for the control socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	s := startServer(t, o)
	info, err := s.api.CreateStore(t.Context(), "notes", "")
	require.NoError(t, err)
	h := &host{t: t, dir: dir, server: s, store: info.ID}
	return h.beside("mnt")
}

// beside is the same host, for another mount path.
func (h *host) beside(name string) *host {
	other := *h
	other.mnt = filepath.Join(h.dir, name)
	h.t.Cleanup(func() {
		for other.mounts() > 0 { // of a memfs that was killed last
			require.NoError(h.t, unix.Unmount(other.mnt, unix.MNT_DETACH))
		}
	})
	return &other
}

// leftovers counts the replicas in the state directory.
func (h *host) leftovers() int {
	h.t.Helper()
	names, err := os.ReadDir(filepath.Join(h.state(), "replicas"))
	require.NoError(h.t, err)
	return len(names)
}

// logged are the events with this code, oldest first.
func (h *host) logged(code string) []map[string]any {
	h.t.Helper()
	var events []map[string]any
	for line := range strings.Lines(h.log()) {
		var event map[string]any
		if json.Unmarshal([]byte(line), &event) == nil && event["code"] == code {
			events = append(events, event)
		}
	}
	return events
}

// sync runs a pass and requires that it succeeds.
func (h *host) sync() {
	h.t.Helper()
	code, _, stderr := h.run("sync", h.mnt)
	require.Zero(h.t, code, "%s\n%s", stderr, tail(h.log()))
}

// texts are what the store has, by path.
func (h *host) texts() map[string]string {
	h.t.Helper()
	texts := map[string]string{}
	for path, m := range h.stored() {
		texts[path] = string(m.Content)
	}
	return texts
}

func (h *host) state() string                   { return filepath.Join(h.dir, "state") }
func (h *host) path(name string) string         { return filepath.Join(h.mnt, name) }
func (h *host) client() store.Client            { return h.server.api.Store(h.store) }
func (h *host) logFile() string                 { return filepath.Join(h.dir, "log") }
func (h *host) log() string                     { return read(h.t, h.logFile()) }
func (h *host) stored() map[string]store.Memory { return h.server.memories(h.store) }

// mounts counts the mounts at the mount path, live or dead.
func (h *host) mounts() int {
	table, err := os.ReadFile("/proc/self/mounts")
	require.NoError(h.t, err)
	return strings.Count(string(table), " "+h.mnt+" ")
}

func (h *host) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir,
		"RUNTIME_DIRECTORY=" + filepath.Join(h.dir, "run"), "STATE_DIRECTORY=" + h.state(),
		"ANTHROPIC_BASE_URL=" + h.server.url, "ANTHROPIC_API_KEY=memfs-key", "MEMFS_LOG_FORMAT=json"}
}

// run runs a memfs command to its end.
func (h *host) run(args ...string) (code int, stdout, stderr string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := h.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(h.t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// command is a memfs command of this host.
func (h *host) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = h.env(), h.dir
	return cmd
}

// process is a memfs that serves the host's mount.
type process struct {
	h    *host
	cmd  *exec.Cmd
	over chan struct{}
	// took is the time from the start to the first answer of the mount.
	took time.Duration
}

// start starts memfs and waits until the mount answers.
func (h *host) start() *process {
	h.t.Helper()
	return h.startAs(h.store + ":" + h.mnt)
}

// startAs is start with another store specification.
func (h *host) startAs(spec string) *process {
	h.t.Helper()
	p, err := h.tryStart(append([]string{"mount", spec, "--sync-interval", "1"}, h.args...)...)
	require.NoError(h.t, err, h.log())
	return p
}

func (h *host) tryStart(args ...string) (*process, error) {
	log, err := os.OpenFile(h.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, log.Close()) }()
	p := &process{h: h, cmd: exec.CommandContext(context.Background(), program, args...), over: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr, p.cmd.Stdout = h.env(), h.dir, log, log
	said := h.said()
	began := time.Now()
	require.NoError(h.t, p.cmd.Start())
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait() // ProcessState tells
	}()
	h.t.Cleanup(p.kill)
	for {
		// A dead mount may answer stat from the kernel's cache, but not statfs.
		var st unix.Statfs_t
		if unix.Statfs(h.mnt, &st) == nil && st.Type == unix.FUSE_SUPER_MAGIC {
			if p.took == 0 {
				p.took = time.Since(began)
			}
			if h.said() > said { // from here on signals end it properly
				return p, nil
			}
		}
		select {
		case <-p.over:
			return p, errors.New("memfs ended: " + p.cmd.ProcessState.String())
		case <-time.After(2 * time.Millisecond):
		}
		if time.Since(began) > 30*time.Second {
			return p, errors.New("not mounted in 30 s")
		}
	}
}

// said counts how often a memfs said that it is ready.
func (h *host) said() int { return strings.Count(h.log(), `"message":"mounted"`) }

// kill is SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.over
}

// stop is SIGTERM; it returns the exit code.
func (p *process) stop() int {
	p.h.t.Helper()
	require.NoError(p.h.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.over:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // shows what it waits for
		<-p.over
		assert.Fail(p.h.t, "memfs does not end", "%s", p.h.log())
	}
	return p.cmd.ProcessState.ExitCode()
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// eventually waits for what comes with a pass.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, time.Minute, 20*time.Millisecond, what)
}

// update changes a memory from the store's side.
func (h *host) update(id string, expect store.SHA, text string) {
	h.t.Helper()
	content := []byte(text)
	_, err := h.client().Update(context.Background(), id, store.Update{Content: &content, Expect: expect})
	require.NoError(h.t, err)
}
