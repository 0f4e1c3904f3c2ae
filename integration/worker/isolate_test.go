package worker_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store/local"
)

// isolated is a host on which the parent of the mounts exists: an isolated
// session makes no directory that others see.
func isolated(t *testing.T) *host {
	h := newHost(t, local.Options{})
	require.NoError(t, os.Mkdir(h.mounts, 0o755))
	t.Cleanup(func() { assert.NoError(t, os.Remove(h.mounts)) })
	return h
}

// twoAtOnce has two sessions use one store at one path at the same time.
func (h *host) twoAtOnce(w *worker, notes local.Attachment) {
	h.t.Helper()
	first, second := h.open(notes), h.open(notes)
	h.do(first, bash("echo first > "+h.at("notes", "first.md")))
	h.do(second, bash("echo second > "+h.at("notes", "second.md")))
	assert.NotEqual(h.t, h.do(first, bash("readlink /proc/self/ns/mnt")), h.do(second, bash("readlink /proc/self/ns/mnt")))
	for _, x := range []*local.Session{first, second} {
		assert.Equal(h.t, "1", h.do(x, bash("grep fuse.memfs /proc/mounts | grep -c "+h.mounts)), "each sees its own mount alone")
	}
	mounts, err := os.ReadFile("/proc/mounts")
	require.NoError(h.t, err)
	assert.NotContains(h.t, string(mounts), h.mounts, "the host sees none")
	there, err := os.ReadDir(h.mounts)
	require.NoError(h.t, err)
	assert.Empty(h.t, there)

	h.finish(first)
	assert.Equal(h.t, "second", h.do(second, bash("cat "+h.at("notes", "second.md"))), "the end of one is not the other's")
	h.finish(second)
	assert.Equal(h.t, 0, w.end())
	assert.Equal(h.t, map[string]string{"/a.md": "a", "/first.md": "first\n", "/second.md": "second\n"}, h.contents(notes))
}

func TestR18_TwoIsolatedSessionsAtOnce(t *testing.T) {
	for _, how := range []string{"--isolate", "--isolate=auto"} {
		t.Run(how, func(t *testing.T) {
			h := isolated(t)
			notes := h.store("notes", map[string]string{"/a.md": "a"})
			w := h.poll(never, how, "--max-sessions=2")
			h.twoAtOnce(w, notes)
			w.says("INFO", "sessions are isolated", `"code": "isolated"`)
		})
	}
}

// Where sessions cannot be isolated, on says so and ends, auto says so and goes
// on without.
func TestIsolateWhereItCannotBe(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can take /dev/fuse away")
	}
	h := newHost(t, local.Options{})
	code, out := exitCode(h.withoutFUSE("--isolate"))
	assert.Equal(t, 3, code, out)
	assert.Contains(t, out, "sessions cannot be isolated here")
	assert.Contains(t, out, "--isolate=auto")
	x := h.session(nil, bash("echo served"))
	w := h.run(h.withoutFUSE("--isolate=auto"))
	h.stopped(x)
	assert.Equal(t, []string{"served"}, texts(x))
	assert.Equal(t, 0, w.end())
	w.says("INFO", "not_isolated", "error")
}

// An ordinary user isolates with a user namespace.
func TestR18_IsolatedAsAnOrdinaryUser(t *testing.T) {
	h := isolated(t)
	notes := h.store("notes", map[string]string{"/a.md": "a"})
	h.ownedByNobody()
	w := h.run(h.asNobody("worker", "poll", "--workdir", h.path("work"), never, "--isolate", "--max-sessions=2"))
	x := h.open(notes)
	assert.Equal(t, "nobody", h.do(x, bash("id -un")))
	h.finish(x)
	h.twoAtOnce(w, notes)
}

// An ordinary user's worker has no privileges to give up; what the agent could
// read of it are its memory and environment, which the kernel does not show.
func TestR19_CanaryAsAnOrdinaryUser(t *testing.T) {
	h := isolated(t)
	notes := h.store("notes", nil)
	h.ownedByNobody()
	w := h.run(h.asNobody("worker", "poll", "--workdir", h.path("work"), never, "--log-level=debug"))
	x := h.open(notes)
	h.do(x, bash("true"))
	serving := w.serving()
	seen := h.do(x, bash(fmt.Sprintf("for p in %d %d $PPID; do for f in environ mem maps cmdline fd/0 fd/3; do head -c 10000 /proc/$p/$f; done; done 2>&1; env; cat /proc/[0-9]*/environ 2>&1; true",
		w.command.Process.Pid, serving)))
	marker := fmt.Sprint(200_000 + os.Getpid())
	h.do(x, bash("(setsid nohup sleep "+marker+" >/dev/null 2>&1 &)"))
	h.finish(x)
	assert.Equal(t, 0, w.end())
	assert.Contains(t, seen, "Permission denied")
	h.hasNoSecret("the agent's shell", strings.ReplaceAll(seen, apiKey, ""))
	h.hasNoSecret("the log", w.log.String())
	code, out := exitCode(h.shell("pgrep -f '[s]leep " + marker + "'"))
	assert.Equal(t, 1, code, "a process was left: %s", out)
}

const nobody = 65534

// ownedByNobody gives the host's directories to the user nobody.
func (h *host) ownedByNobody() {
	h.t.Helper()
	if os.Geteuid() != 0 {
		h.t.Skip("only root can become another user")
	}
	for _, dir := range []string{h.path("work"), h.mounts, h.dir} {
		if err := os.Chown(dir, nobody, nobody); !errors.Is(err, fs.ErrNotExist) {
			require.NoError(h.t, err)
		}
	}
}

// asNobody runs memfs as the user nobody, on whose host everybody may open
// /dev/fuse.
func (h *host) asNobody(args ...string) *exec.Cmd {
	h.t.Helper()
	device := h.path("fuse")
	require.NoError(h.t, unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 229))))
	require.NoError(h.t, os.Chmod(device, 0o666))
	script := `mount --bind "$0" /dev/fuse && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`
	c := apart(script, append([]string{device, program}, args...)...)
	c.Env, c.Dir = h.environment(), h.dir
	return c
}
