package toolbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/worker/toolbox"
)

// asTools says that this test binary is to be the process that runs tools.
const asTools = "asTools"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asTools {
		code, err := toolbox.Main()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// box is an open box and its working directory.
type box struct {
	*toolbox.Box
	t    *testing.T
	work string
}

func open(t *testing.T, change func(*toolbox.Options)) *box {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	o := toolbox.Options{
		Command: []string{"/proc/self/exe", asTools}, Workdir: work, Umask: 0o022, Log: zap.NewNop(),
		Environment: []string{"PATH=" + os.Getenv("PATH"), "KEPT=yes", "GORACE=atexit_sleep_ms=0"},
	}
	if change != nil {
		change(&o)
	}
	b, err := toolbox.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return &box{b, t, work}
}

func (b *box) run(ctx context.Context, tool string, input map[string]any) (string, error) {
	b.t.Helper()
	raw, err := json.Marshal(input)
	require.NoError(b.t, err)
	for _, t := range b.Tools() {
		if t.Name() == tool {
			blocks, err := t.Execute(ctx, raw)
			return text(blocks), err
		}
	}
	require.Fail(b.t, "no such tool", tool)
	return "", nil
}

func (b *box) bash(command string) string {
	b.t.Helper()
	out, err := b.run(b.t.Context(), "bash", map[string]any{"command": command})
	require.NoError(b.t, err)
	return strings.TrimSpace(out)
}

func text(blocks []anthropic.BetaToolResultBlockParamContentUnion) string {
	var all strings.Builder
	for _, b := range blocks {
		if b.OfText != nil {
			all.WriteString(b.OfText.Text)
		}
	}
	return all.String()
}

func TestToolsRunInAnotherProcess(t *testing.T) {
	b := open(t, nil)
	assert.Equal(t, "yes "+b.work, b.bash("echo $KEPT $PWD; cd /"))
	assert.Equal(t, "/", b.bash("pwd"), "the shell persists")
	assert.Equal(t, "0022", b.bash("umask"))
	_, err := b.run(t.Context(), "write", map[string]any{"file_path": "a.md", "content": "text"})
	require.NoError(t, err)
	got, err := b.run(t.Context(), "read", map[string]any{"file_path": filepath.Join(b.work, "a.md")})
	require.NoError(t, err)
	assert.Equal(t, "text", got)
	_, err = b.run(t.Context(), "read", map[string]any{"file_path": "/etc/hostname"})
	require.ErrorContains(t, err, "outside the session's working directory")
}

// A cancelled call ends at once, and its late answer is nobody's.
func TestCancel(t *testing.T) {
	b := open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	_, err := b.run(ctx, "bash", map[string]any{"command": "sleep 100"})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(began), 10*time.Second)
	assert.Equal(t, "next", b.bash("echo next"))
}

// R15: an agent's command can stop the process that runs the tools, which would
// answer no more.
func TestR15_StoppedToolsGoOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's tools have a process above them that they cannot stop")
	}
	b := open(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := b.run(ctx, "bash", map[string]any{"command": "kill -STOP $PPID; echo on"})
	require.NoError(t, err)
	assert.Equal(t, "on", strings.TrimSpace(out))
}

// R15: a process that runs tools and does nothing takes no more than a pipe
// holds, and what it started keeps its output open. A call ends all the same,
// and so does the box; the next call has tools again.
func TestR15_HungToolsAreGivenUp(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	const hungOnce = `if mkdir "$0" 2>/dev/null; then read setup; echo '{"ID":0}'; sleep 1000 & exec sleep 1000; fi; exec "$@"`
	for name, size := range map[string]int{"a call that fits the pipe": 1, "a call that does not": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			b := open(t, func(o *toolbox.Options) {
				o.Command = []string{"/bin/sh", "-c", hungOnce, filepath.Join(o.Workdir, "hung"), program, asTools}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := b.run(ctx, "write", map[string]any{"file_path": "a.md", "content": strings.Repeat("x", size)})
				ended <- err
			}()
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(time.Minute):
				require.Fail(t, "the call does not end")
			}
			assert.Equal(t, "next", b.bash("echo next"))
		})
	}
}

// R15: where root may make no namespaces, as in a plain container, calls and
// boxes end too.
func TestR15_WithoutNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has namespaces to do without")
	}
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "setpriv", "--bounding-set=-sys_admin", program,
		"-test.run=^(TestToolsRunInAnotherProcess|TestCancel|TestR15_StoppedToolsGoOn|TestR15_HungToolsAreGivenUp)$", "-test.v").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 4, strings.Count(string(out), "\n--- PASS"), "%s", out)
}

func TestSkillsComeAndGo(t *testing.T) {
	from := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "lint", "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "lint", "bin", "run"), []byte("#!/bin/sh\necho skilled\n"), 0o755))
	var work string
	b := open(t, func(o *toolbox.Options) {
		o.Skills, work = from, o.Workdir
		require.NoError(t, os.MkdirAll(filepath.Join(work, "skills", "lint", "stale"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(work, "skills", "theirs"), 0o755))
	})
	assert.Equal(t, "skilled", b.bash("skills/lint/bin/run"))
	assert.NoDirExists(t, filepath.Join(work, "skills", "lint", "stale"))
	require.NoError(t, b.Close())
	assert.NoDirExists(t, filepath.Join(work, "skills", "lint"))
	assert.DirExists(t, filepath.Join(work, "skills", "theirs"))
}

func TestOpenSaysWhatFailed(t *testing.T) {
	o := toolbox.Options{Command: []string{"/proc/self/exe", asTools}, Workdir: t.TempDir(), Skills: filepath.Join(t.TempDir(), "file"), Log: zap.NewNop()}
	require.NoError(t, os.WriteFile(o.Skills, nil, 0o600))
	_, err := toolbox.Open(o)
	require.ErrorContains(t, err, "skills")
	o.Command = []string{"/bin/false"}
	_, err = toolbox.Open(o)
	require.ErrorContains(t, err, "ended at once")
}

func TestEnvironment(t *testing.T) {
	all := []string{
		"PATH=/bin", "HOME=/root", "GITHUB_TOKEN=theirs", "ANTHROPIC_API_KEY=k", "anthropic_api_key=k", "MEMFS_STATE_DIR=/s",
		"CREDENTIALS_DIRECTORY=/c", "RUNTIME_DIRECTORY=/r", "NOTIFY_SOCKET=/n",
	}
	assert.Equal(t, all[:3], toolbox.Environment(all, nil))
	assert.Equal(t, []string{"PATH=/bin", "GITHUB_TOKEN=theirs", "USER=ada", "LOGNAME=ada", "HOME=/home/ada", "SHELL=/bin/bash"},
		toolbox.Environment(all, &toolbox.User{Name: "ada", Home: "/home/ada"}))
}

// R19: no environment is none, not the worker's own.
func TestR19_NoEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("MEMFS_CANARY", "secret")
	b := open(t, func(o *toolbox.Options) { o.Environment = nil })
	assert.NotContains(t, b.bash("env; tr '\\0' '\\n' < /proc/$PPID/environ"), "CANARY")
}

func TestLookupUser(t *testing.T) {
	root, err := toolbox.LookupUser("root")
	require.NoError(t, err)
	assert.Equal(t, uint32(0), root.UID)
	number, err := toolbox.LookupUser("4000123:4000456")
	require.NoError(t, err)
	assert.Equal(t, &toolbox.User{UID: 4000123, GID: 4000456, Name: "4000123", Home: "/"}, number)
	for _, text := range []string{"", "no-such-user", "1:x", "-1", "99999999999"} {
		_, err := toolbox.LookupUser(text)
		require.Error(t, err, text)
	}
}
