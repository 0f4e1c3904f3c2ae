package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// apiKey is in the worker's environment, and should be nowhere else.
const apiKey = "sk-ant-api03-canary"

// canary polls with an API key in the environment too, at the most verbose
// level, as its user would to look for a fault.
func (h *host) canary(args ...string) *worker {
	h.t.Helper()
	c := h.command(append([]string{"worker", "poll", "--workdir", h.path("work"), "--log-level=debug"}, args...)...)
	require.NoError(h.t, os.Mkdir(h.path("credentials"), 0o700))
	for _, file := range []string{h.path("credentials", "ANTHROPIC_AUTH_TOKEN"), h.path("key")} {
		require.NoError(h.t, os.WriteFile(file, []byte(apiKey), 0o600))
	}
	c.Env = append(c.Env, "ANTHROPIC_API_KEY="+apiKey, "MEMFS_HYDRATE=auto", "CREDENTIALS_DIRECTORY="+h.path("credentials"), "ANTHROPIC_AUTH_TOKEN_FILE="+h.path("key"))
	return h.run(c)
}

// secrets are the credentials that are in use.
func (h *host) secrets() []string {
	h.t.Helper()
	all := []string{apiKey, h.EnvironmentKey()}
	for _, r := range h.wire.seen("POST", "/heartbeat") {
		require.True(h.t, strings.HasPrefix(r.credential, "sk-ant-req-"))
		all = append(all, r.credential)
	}
	require.Greater(h.t, len(all), 2)
	return all
}

// R19: no credential can be found from inside the agent's shell, nor in the
// log at the most verbose level, nor in the state directory.
func TestR19_Canary(t *testing.T) {
	for name, args := range map[string][]string{"as root": asRoot(), "as another user": nil} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, local.Options{})
			require.NoError(t, os.Chmod(h.path("work"), 0o777))
			notes := h.store("notes", map[string]string{"/a.md": "private text"})
			w := h.canary(args...)
			x := h.open(notes)
			h.do(x, bash("true")) // it is served
			look := []string{
				"env",
				"for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/mounts /proc/self/mountinfo; do tr '\\0' '\\n' < $f; done",
				fmt.Sprintf("for f in environ cmdline mem maps fd/3 root/etc/hostname; do head -c 100000 /proc/%d/$f /proc/%d/$f; done", w.command.Process.Pid, w.serving()),
				"cat " + h.path("key") + " " + h.path("credentials") + "/*",
				"ls -laR " + h.path("state") + " " + h.path("run"),
				"grep -ra . " + h.path("state") + " " + h.path("run"),
				"set; declare -x; ls -la /proc/$$/fd; cat /proc/$PPID/environ; ls -la /proc/$PPID/fd; cat /proc/$PPID/fd/*",
			}
			var seen strings.Builder
			for _, command := range look {
				a, err := x.Call(h.within(), bash("("+command+") 2>&1 | tail -c 90000; true"))
				require.NoError(t, err)
				seen.WriteString(a.Text)
			}
			h.do(x, bash("echo more private text > "+h.at("notes", "b.md")))
			for _, file := range h.stateFiles() {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				h.hasNoSecret("the state directory", string(text))
			}
			h.finish(x)
			assert.Equal(t, 0, w.end())
			assert.Contains(t, seen.String(), "PATH=")
			h.hasNoSecret("the agent's shell", seen.String())
			h.hasNoSecret("the log", w.log.String())
			assert.NotContains(t, w.log.String(), "private text")
			for _, variable := range []string{"ANTHROPIC_", "MEMFS_", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"} {
				assert.NotRegexp(t, `(?m)^(declare -x )?`+variable, seen.String())
			}
			assert.NotContains(t, seen.String(), "journal")
		})
	}
}

func (h *host) hasNoSecret(where, text string) {
	h.t.Helper()
	for _, secret := range h.secrets() {
		assert.NotContains(h.t, text, secret, "a credential is in %s", where)
	}
	assert.NotContains(h.t, text, "sk-ant-", "a credential is in %s", where)
}

// R18: the tools have no privilege, and cannot harm memfs.
func TestR18_ToolsHaveNoPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("there are no privileges to give up")
	}
	for name, args := range map[string][]string{"root": asRoot(), "nobody": nil, "12345": {"--tools-user=12345:23456"}} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, local.Options{})
			require.NoError(t, os.Chmod(h.path("work"), 0o777))
			notes := h.store("notes", map[string]string{"/a.md": "a\n", "/d/b.md": "b\n"})
			w := h.poll(append(args, never)...)
			x := h.open(notes)
			status := h.do(x, bash("cat /proc/self/status"))
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
				assert.Contains(t, status, set+":\t0000000000000000\n")
			}
			assert.Contains(t, status, "NoNewPrivs:\t1\n")
			if strings.Contains(name, "123") {
				assert.Equal(t, "12345 23456 23456", h.do(x, bash("echo $(id -u) $(id -g) $(id -G)")))
			} else {
				assert.Equal(t, name, h.do(x, bash("id -un")))
			}
			serving := w.serving()
			for _, command := range []string{
				fmt.Sprintf("kill -9 %d", serving),
				fmt.Sprintf("kill -9 %d", w.command.Process.Pid),
				"umount " + h.at("notes"),
				"umount -l " + h.at("notes"),
				"fusermount3 -uz " + h.at("notes"),
				"mount -t tmpfs none " + h.path("work"),
				"ls " + h.path("state") + "/* " + h.path("run") + "/*",
				"umount " + h.path("state"),
				"unshare -Urm umount " + h.path("state"),
				"RUNTIME_DIRECTORY=" + h.path("run") + " " + program + " sync --allow-deletes " + h.at("notes"),
				"kill -9 1; kill -0 1 && false",
			} {
				a, err := x.Call(h.within(), bash(command))
				require.NoError(t, err)
				assert.True(t, a.Error, "%s: %s", command, a.Text)
			}
			// What an agent does all day still works, as its user.
			assert.Equal(t, "a", h.do(x, bash("cat "+h.at("notes", "a.md"))))
			h.do(x, write(h.at("notes", "d", "new.md"), "new\n"))
			h.do(x, edit(h.at("notes", "d", "b.md"), "b", "c"))
			h.do(x, bash("cd "+h.at("notes")+" && mkdir e && mv a.md e/ && cp d/new.md e/ && rm d/new.md && echo x > "+h.path("work", "x")))
			h.finish(x)
			assert.Equal(t, 0, w.end())
			assert.Equal(t, map[string]string{"/e/a.md": "a\n", "/d/b.md": "c\n", "/e/new.md": "new\n"}, h.contents(notes))
		})
	}
}

// R18: whoever owns the working directory runs the tools; where that is root,
// it is root without capabilities, and said.
func TestR18_TheWorkingDirectorysOwnerRunsTheTools(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("there are no privileges to give up")
	}
	h := newHost(t, local.Options{})
	for _, c := range []struct {
		uid               int
		says, level, code string
	}{
		{12345, "12345 12345 0000000000000000", "INFO", "tools_user"},
		{nobody, "65534 65534 0000000000000000", "INFO", "tools_user"},
		{0, "0 0 0000000000000000", "WARN", "tools_as_root"},
	} {
		require.NoError(t, os.Chown(h.path("work"), c.uid, c.uid))
		x := h.session(nil, bash("echo $(id -u) $(id -g) $(awk '/^CapEff/ { print $2 }' /proc/self/status); touch made"))
		w := h.poll()
		h.stopped(x)
		assert.Equal(t, 0, w.end())
		assert.Equal(t, []string{c.says}, texts(x))
		w.says(c.level, c.code)
		require.NoError(t, os.Remove(h.path("work", "made")))
	}
}

// asRoot is what has tools run as root, where the worker is.
func asRoot() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	return []string{"--tools-user=root"}
}

// A working directory that the tools' user cannot enter fails the session, and
// says so.
func TestToolsUserNeedsTheWorkdir(t *testing.T) {
	h := newHost(t, local.Options{})
	require.NoError(t, os.Chmod(h.path("work"), 0o700))
	require.NoError(t, os.Chown(h.path("work"), 12345, 12345))
	h.refused(h.session([]local.Attachment{h.store("notes", nil)}, bash("true")), []string{"--tools-user=nobody"},
		"the tools cannot be started", "the working directory cannot be used by the tools' user", "tools_failed")
}

// The agent's shell can kill the process that runs its tools: the next call
// has a new one.
func TestToolsAreStartedAgain(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	w := h.poll()
	x := h.open(notes)
	h.do(x, bash("echo kept > "+h.at("notes", "a.md")))
	a, err := x.Call(h.within(), bash("kill -9 $PPID; sleep 1000"))
	require.NoError(t, err)
	assert.True(t, a.Error)
	assert.Equal(t, "kept", h.do(x, bash("cat "+h.at("notes", "a.md"))))
	h.finish(x)
	assert.Equal(t, 0, w.end())
	w.says("WARN", "tools_ended")
}

// What a tool left in a mount does not reach another session's: a namespace
// that still knew the mount would keep it.
func TestSessionsDoNotHoldEachOthersMounts(t *testing.T) {
	h := newHost(t, local.Options{})
	first, second := h.open(h.store("first", nil)), h.open(h.store("second", nil))
	w := h.poll("--max-sessions=2")
	h.do(first, bash("true"))
	h.do(second, bash("true"))
	assert.NotContains(t, h.do(second, bash("cat /proc/mounts")), filepath.Join(h.mounts, "first"))
	h.finish(first)
	h.finish(second)
	assert.Equal(t, 0, w.end())
	assert.NotContains(t, w.log.String(), "busy")
}
