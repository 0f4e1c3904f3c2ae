//go:build linux

package fs

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// soon is how long the kernel may take to hear of a change.
const soon = 30 * time.Second

// mounted is a mount in a process of its own.
type mounted struct {
	t       *testing.T
	path    string
	config  childConfig
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	logged  chan struct{} // closed when the child's log has ended
	ended   bool
}

// newMount mounts a store that holds files; options change the config.
func newMount(t *testing.T, files map[string]string, options ...func(*childConfig)) *mounted {
	t.Helper()
	needFUSE(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755), "so that other users get as far as the mount")
	config := childConfig{Path: filepath.Join(dir, "mnt"), State: filepath.Join(dir, "state"), Files: files}
	for _, option := range options {
		option(&config)
	}
	require.NoError(t, os.MkdirAll(config.Path, 0o755))
	m := startChild(t, config)
	require.Empty(t, m.reply().Err)
	return m
}

// needFUSE skips where no test that mounts can run.
func needFUSE(t *testing.T) {
	t.Helper()
	if err := mountable(Options{}); err != nil {
		t.Skip("this host cannot mount: ", err)
	}
}

func startChild(t *testing.T, config childConfig) *mounted {
	t.Helper()
	m := &mounted{t: t, path: config.Path, config: config, command: exec.Command(os.Args[0])}
	// Without GORACE a child of the race detector takes a second to exit.
	m.command.Env = append(os.Environ(), childEnv+"=1", "GORACE=atexit_sleep_ms=0")
	in, err := m.command.StdinPipe()
	require.NoError(t, err)
	stdout, err := m.command.StdoutPipe()
	require.NoError(t, err)
	stderr, err := m.command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, m.command.Start())
	m.logged = make(chan struct{})
	go func() {
		defer close(m.logged)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			t.Log("child: ", lines.Text())
		}
	}()
	m.in, m.out = in, json.NewDecoder(stdout)
	m.tell(config)
	t.Cleanup(m.end)
	return m
}

// kill ends the child as the kernel would when memory runs out.
func (m *mounted) kill() {
	m.t.Helper()
	require.NoError(m.t, m.command.Process.Kill())
	<-m.logged
	_ = m.command.Wait()
	m.ended = true
}

// end has the child unmount and leave, and makes sure that nothing is left.
func (m *mounted) end() {
	if !m.ended {
		_ = m.in.Close()
		hung := time.AfterFunc(2*soon, func() { _ = m.command.Process.Kill() })
		<-m.logged
		assert.NoError(m.t, m.command.Wait(), "the child did not end well")
		hung.Stop()
	}
	assert.NoError(m.t, Detach(m.path))
	left, err := mountsAt(m.path)
	assert.NoError(m.t, err)
	assert.Empty(m.t, left, "a mount was left behind")
}

func (m *mounted) reply() reply {
	m.t.Helper()
	var r reply
	require.NoError(m.t, m.out.Decode(&r))
	return r
}

// ask has the child do something and returns its answer.
func (m *mounted) ask(o order) reply {
	m.t.Helper()
	m.tell(o)
	return m.reply()
}

func (m *mounted) tell(what any) {
	m.t.Helper()
	require.NoError(m.t, json.NewEncoder(m.in).Encode(what))
}

// do has the child do something that must work.
func (m *mounted) do(o order) reply {
	m.t.Helper()
	r := m.ask(o)
	require.Empty(m.t, r.Err)
	return r
}

// put is a change in the store that arrives.
func (m *mounted) put(path, text string) {
	m.t.Helper()
	m.do(order{Do: "put", Path: path, Text: text})
}

// at is a path in the mount.
func (m *mounted) at(name string) string { return filepath.Join(m.path, name) }

func (m *mounted) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.at(name))
	require.NoError(m.t, err)
	return string(text)
}

func (m *mounted) write(name, text string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(m.at(name), []byte(text), 0o644))
}

// list names what a directory holds, without the marker.
func (m *mounted) list(name string) []string {
	m.t.Helper()
	entries, err := os.ReadDir(m.at(name))
	require.NoError(m.t, err)
	names := []string{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

func (m *mounted) stat(name string) unix.Stat_t {
	m.t.Helper()
	var stat unix.Stat_t
	require.NoError(m.t, unix.Lstat(m.at(name), &stat))
	return stat
}

func (m *mounted) eventually(what string, cond func() bool) {
	m.t.Helper()
	require.Eventually(m.t, cond, soon, time.Millisecond, what)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func mtime(stat unix.Stat_t) int64 { return stat.Mtim.Nano() }
