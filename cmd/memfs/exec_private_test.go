package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

// R18: with --private several have one store at one path at the same time, and
// nobody else sees a mount.
func TestR18_ExecPrivate(t *testing.T) {
	h := private(t).with("MEMFS_SYNC_INTERVAL=1h") // neither hears of the other through the store
	id := h.store("notes")
	at, mnt := "notes:"+h.path("mnt"), h.path("mnt")
	first := h.background(nil, "exec", "--private", at, "--", "sh", "-c",
		"echo one > "+mnt+"/one; touch "+h.path("up")+"; while ! test -e "+h.path("go")+"; do sleep 0.05; done; cat "+mnt+"/one; test ! -e "+mnt+"/two")
	h.await(h.path("up"))
	h.must("exec", "--private", at, "--", "sh", "-c", "test ! -e "+mnt+"/one && echo two > "+mnt+"/two")
	entries, err := os.ReadDir(mnt)
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing is mounted for others")
	assert.NotContains(t, read(t, "/proc/self/mountinfo"), mnt)
	write(t, h.path("go"), "")
	require.NoError(t, first.Wait())
	assert.Equal(t, map[string]string{"/one": "one\n", "/two": "two\n"}, h.memories(h.api().Reader(id)))
	assert.NoDirExists(t, mnt)
	assert.Contains(t, h.must("recover", "list"), "nothing is left")
}

func TestExecPrivateEndsLikeItsCommand(t *testing.T) {
	h := private(t)
	h.store("notes")
	at := "notes:" + h.path("mnt")
	for want, command := range map[int][]string{
		0:                          {"true"},
		3:                          {"sh", "-c", "exit 3"},
		128 + int(syscall.SIGTERM): {"sh", "-c", "kill $$"},
		exitcode.ExecNotFound:      {"no-such-command"},
	} {
		r := h.run(append([]string{"exec", "--private", at, "--"}, command...)...)
		assert.Equal(t, want, r.code, "%v: %s", command, r.stderr)
	}
	h.fails(exitcode.ExecFailed, "no store has the id or name", "exec", "--private", "unknown", "--", "true")

	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `umask 027; exec "$0" "$@"`, program, "exec", "--private", at, "--", "sh", "-c", "umask; env")
	cmd.Env, cmd.Stdout = append(h.env, "ANTHROPIC_API_KEY=hidden"), &out
	require.NoError(t, cmd.Run())
	assert.Contains(t, out.String(), "0027\n")
	assert.NotContains(t, out.String(), "hidden")

	running := h.background(nil, "exec", "--private", at, "--", "sh", "-c", "trap 'exit 7' TERM; touch "+h.path("up")+"; while :; do sleep 0.05; done")
	h.await(h.path("up"))
	require.NoError(t, running.Process.Signal(syscall.SIGTERM))
	require.Error(t, running.Wait())
	assert.Equal(t, 7, running.ProcessState.ExitCode())
	assert.NoDirExists(t, h.path("mnt"))
}

// R18: an ordinary user has it in a user namespace, and reads nobody's
// environment there.
func TestR18_ExecPrivateAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it is what the other tests do then")
	}
	h := private(t)
	if info, err := os.Stat("/dev/fuse"); err != nil || info.Mode().Perm() != 0o666 {
		t.Skip("only root may open /dev/fuse here")
	}
	h.store("notes")
	require.NoError(t, os.Chmod(filepath.Dir(program), 0o755))
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, _ os.DirEntry, err error) error {
		return os.Lchown(path, 65534, 65534)
	}))
	var out, errs bytes.Buffer
	cmd := h.command("exec", "--private", "notes:"+h.path("mnt"), "--", "sh", "-c",
		"echo one > "+h.path("mnt")+"/one; id -u; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; true")
	cmd.Env = append(h.env, "ANTHROPIC_API_KEY=hidden")
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); err != nil && bytes.Contains(errs.Bytes(), []byte("there is no mount namespace to be had")) {
		t.Skip("ordinary users have no user namespaces here: ", errs.String())
	} else {
		require.NoError(t, err, errs.String())
	}
	assert.Contains(t, out.String(), "65534\n", "the command is who started memfs")
	assert.NotContains(t, out.String(), "hidden")
	assert.NoDirExists(t, h.path("mnt"))
}

func private(t *testing.T) *host {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("mount namespaces are Linux's")
	}
	return mounting(t)
}
