//go:build linux

package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// host is a machine for memfs, with one store of an honest server on it.
type host struct {
	t      testing.TB
	dir    string
	server *server
	store  string
	mnt    string
	// extra are further variables of memfs's environment.
	extra []string
}

// The memory that every attacked store holds, and the agent's own file.
const (
	honestPath, honestText = "/honest.md", "the store's own\n"
	minePath, mineText     = "/mine.md", "the agent's own\n"
)

func newHost(t testing.TB) *host {
	t.Helper()
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this host cannot mount: ", err)
	}
	require.NoError(t, device.Close())
	dir, err := os.MkdirTemp("", "hostile") // short, for the control socket
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755), "so that other users get as far as the mount")
	h := &host{t: t, dir: dir, server: newServer(t, local.Options{MountRoot: filepath.Join(dir, "mnt")}), mnt: filepath.Join(dir, "mnt")}
	h.store = h.newStore("notes")
	_, err = h.server.api.Store(h.store).Create(t.Context(), honestPath, []byte(honestText))
	require.NoError(t, err)
	t.Cleanup(func() {
		for h.mounts() > 0 {
			require.NoError(t, unix.Unmount(h.mnt, unix.MNT_DETACH))
		}
		assert.NoError(t, os.RemoveAll(dir))
	})
	return h
}

func (h *host) newStore(name string) string {
	h.t.Helper()
	info, err := h.server.api.CreateStore(h.t.Context(), name, "")
	require.NoError(h.t, err)
	return info.ID
}

func (h *host) path(elem ...string) string { return filepath.Join(append([]string{h.dir}, elem...)...) }
func (h *host) at(elem ...string) string   { return filepath.Join(append([]string{h.mnt}, elem...)...) }

// mounts counts the mounts at the mount path, live or dead.
func (h *host) mounts() int {
	table, err := os.ReadFile("/proc/self/mounts")
	require.NoError(h.t, err)
	return strings.Count(string(table), " "+h.mnt+" ")
}

// credential is what a hostile server would like others to see.
const credential = "sk-ant-api03-hostile"

func (h *host) env() []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir,
		"RUNTIME_DIRECTORY=" + h.path("run"), "STATE_DIRECTORY=" + h.path("state"),
		"ANTHROPIC_BASE_URL=" + h.server.url, "ANTHROPIC_API_KEY=" + credential, "MEMFS_LOG_FORMAT=json"}, h.extra...)
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a memfs command to its end.
func (h *host) run(args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env(), h.dir, &out, &errs
	err := cmd.Run()
	require.NoError(h.t, ctx.Err(), "memfs %s hangs", strings.Join(args, " "))
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(h.t, err)
	}
	r := result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	require.NotContains(h.t, r.stderr, "panic:")
	return r
}

// status is the status of the mount.
func (h *host) status() (s struct {
	Memories, Clean, Dirty, Held, Refused, Conflicts, Panics int
	Sync                                                     struct {
		Hidden int
		Error  string
	}
}) {
	h.t.Helper()
	r := h.run("status", "--json", h.mnt)
	require.Zero(h.t, r.code, r.stderr)
	var views []struct{ Status json.RawMessage }
	require.NoError(h.t, json.Unmarshal([]byte(r.stdout), &views), r.stdout)
	require.Len(h.t, views, 1)
	require.NoError(h.t, json.Unmarshal(views[0].Status, &s))
	return s
}

// remote is what the honest server has, by path.
func (h *host) remote() map[string]string {
	h.t.Helper()
	texts := map[string]string{}
	for page := ""; ; {
		got, err := h.server.api.Store(h.store).List(h.t.Context(), store.ListQuery{Full: true, Page: page})
		require.NoError(h.t, err)
		for _, m := range got.Memories {
			texts[m.Path] = string(m.Content)
		}
		if page = got.Next; page == "" {
			return texts
		}
	}
}

// process is a memfs that serves the host's mount.
type process struct {
	h    *host
	cmd  *exec.Cmd
	over chan struct{}
	// mostRSS is the most memory that was seen in use, in bytes.
	mostRSS int64
}

// most is a loose bound on what memfs takes of memory whatever a server says.
const mostRSS = 700 << 20

// mount starts memfs and waits until the mount answers; false if memfs ended
// instead.
func (h *host) mount(args ...string) (*process, bool) {
	h.t.Helper()
	return h.start(append([]string{"mount", h.store + ":" + h.mnt, "--sync-interval", "1"}, args...)...)
}

func (h *host) start(args ...string) (*process, bool) {
	h.t.Helper()
	log, err := os.OpenFile(h.path("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, log.Close()) }()
	p := &process{h: h, cmd: exec.CommandContext(context.Background(), program, args...), over: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr, p.cmd.Stdout = h.env(), h.dir, log, log
	said := strings.Count(h.log(), `"message":"mounted"`)
	require.NoError(h.t, p.cmd.Start())
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait() // ProcessState tells
	}()
	h.t.Cleanup(p.kill)
	for began := time.Now(); strings.Count(h.log(), `"message":"mounted"`) == said; {
		select {
		case <-p.over:
			h.clean(h.log())
			return p, false
		case <-time.After(5 * time.Millisecond):
		}
		p.look()
		require.Less(h.t, time.Since(began), 3*time.Minute, "neither mounted nor ended:\n%s", tail(h.log()))
	}
	return p, true
}

// look notes how much memory the process takes.
func (p *process) look() {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	var pages, resident int64
	if _, scanErr := fmt.Sscan(string(text), &pages, &resident); err != nil || scanErr != nil {
		return
	}
	p.mostRSS = max(p.mostRSS, resident*int64(os.Getpagesize()))
	require.Less(p.h.t, p.mostRSS, int64(mostRSS), "memfs grows")
}

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
	case <-time.After(90 * time.Second):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // shows what it waits for
		<-p.over
		assert.Fail(p.h.t, "memfs does not end", "%s", tail(p.h.log()))
	}
	p.h.clean(p.h.log())
	assert.Zero(p.h.t, p.h.mounts(), "the mount was left")
	return p.cmd.ProcessState.ExitCode()
}

func (h *host) log() string {
	text, err := os.ReadFile(h.path("log"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(h.t, err)
	}
	return string(text)
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// failed requires that memfs ended because of what the store said.
func (h *host) failed(p *process) {
	h.t.Helper()
	assert.Contains(h.t, []int{1, 5}, p.cmd.ProcessState.ExitCode(), h.log())
}
