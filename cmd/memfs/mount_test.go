package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/store"
)

// mounting is a host with an embedded store and the right to mount.
func mounting(t *testing.T) *host {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("this host cannot mount: ", err)
	} else {
		require.NoError(t, f.Close())
	}
	h := newHost(t).local().with("MEMFS_SYNC_INTERVAL=1")
	t.Cleanup(func() {
		if left := h.mounts(); len(left) > 0 {
			cmd := exec.Command(program, append([]string{"unmount"}, left...)...)
			cmd.Env = h.env
			said, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", said)
		}
		assert.Empty(t, h.mounts(), "a mount is left")
	})
	return h
}

// mounts are the paths of the host's mounts, dead ones too.
func (h *host) mounts() []string {
	all, err := fs.Mounts()
	assert.NoError(h.t, err)
	var paths []string
	for _, m := range all {
		if mountpoint.Stays(m.Path, h.dir) {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// store makes a store and returns its id.
func (h *host) store(name string) string {
	h.t.Helper()
	return strings.TrimSpace(h.must("store", "create", name))
}

// api is the host's embedded store as others see it.
func (h *host) api() *backend.Backend {
	h.t.Helper()
	b, err := backend.Open(h.path("stores"), zap.NewNop())
	require.NoError(h.t, err)
	h.t.Cleanup(func() { assert.NoError(h.t, b.Close()) })
	return b
}

// memories are the paths and contents of a store.
func (h *host) memories(client store.Reader) map[string]string {
	h.t.Helper()
	page, err := client.List(h.t.Context(), store.ListQuery{Full: true})
	require.NoError(h.t, err)
	got := map[string]string{}
	for _, m := range page.Memories {
		got[m.Path] = string(m.Content)
	}
	return got
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestMountSyncUnmount(t *testing.T) {
	h := mounting(t)
	id := h.store("My Notes")
	h.must("mount", "My Notes", "--root", h.path("memory"), "--daemon")
	mnt := h.path("memory/my-notes")
	write(t, filepath.Join(mnt, "a.md"), "one\n")
	h.must("sync", filepath.Join(mnt, "a.md"))
	reader := h.api().Reader(id)
	assert.Equal(t, map[string]string{"/a.md": "one\n"}, h.memories(reader))

	assert.Regexp(t, `(?m)^`+mnt+` +My Notes +write +1 +0 +0 `, h.must("status"))
	var status []struct {
		PID    int
		Mount  string
		Status struct{ Clean, Dirty int }
	}
	require.NoError(t, json.Unmarshal([]byte(h.must("status", mnt, "--json")), &status))
	require.Len(t, status, 1)
	assert.Equal(t, mnt, status[0].Mount)
	assert.Equal(t, 1, status[0].Status.Clean)
	assert.Positive(t, status[0].PID)

	write(t, filepath.Join(mnt, "b.md"), "two\n")
	h.must("unmount", mnt)
	assert.Equal(t, map[string]string{"/a.md": "one\n", "/b.md": "two\n"}, h.memories(reader), "R15: the final pass")
	assert.NoDirExists(t, h.path("memory"), "R15: what attach made is gone")
	h.fails(exitcode.Failed, mnt+" is not mounted by memfs", "status", mnt)
	h.must("umount", mnt)
	assert.Equal(t, "nothing is mounted at "+h.path("never/was/there")+"\n", h.must("unmount", h.path("never/was/there")))
	h.fails(exitcode.Failed, "nothing is mounted by memfs", "sync")
	h.fails(exitcode.Failed, mnt+" is not mounted by memfs: memfs status lists what is", "sync", mnt)
}

// R15: what a killed memfs made below a symbolic link goes with its dead mount.
func TestR15_UnmountOfADeadMountUnderALink(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	mnt := h.path("link/notes")
	require.NoError(t, os.Mkdir(h.path("real"), 0o755))
	require.NoError(t, os.Symlink("real", h.path("link")))
	cmd := h.background(nil, "mount", "notes:"+mnt)
	h.await(mnt + "/.anthropic-memory-store")
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	h.must("unmount", mnt)
	assert.NoDirExists(t, h.path("real/notes"))
}

func TestR15_SignalsEndTheMountCleanly(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			continue // under nohup memfs goes on, as it should
		}
		h := mounting(t)
		id := h.store("notes")
		cmd := h.background(nil, "mount", "notes:"+h.path("mnt"))
		h.await(h.path("mnt/.anthropic-memory-store"))
		write(t, h.path("mnt/a.md"), "kept\n")
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait(), "exit code 0 after %s", sig)
		assert.NoDirExists(t, h.path("mnt"))
		assert.Equal(t, map[string]string{"/a.md": "kept\n"}, h.memories(h.api().Reader(id)))
	}
}

func (h *host) await(path string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, 10*time.Millisecond)
}

func TestR15_ForeignUnmountEndsAllMountsOfTheProcess(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	h.store("other")
	cmd := h.background(nil, "mount", "notes:"+h.path("mnt"), "other:"+h.path("other"))
	h.await(h.path("mnt/.anthropic-memory-store"))
	h.await(h.path("other/.anthropic-memory-store"))
	require.NoError(t, exec.Command("umount", h.path("mnt")).Run())
	require.NoError(t, cmd.Wait())
	assert.NoDirExists(t, h.path("other"))
}

func TestR1_WhatCannotBeMountedLeavesNothingBehind(t *testing.T) {
	h := mounting(t)
	id := h.store("notes")
	h.store("twin")
	h.store("twin")
	h.store("Notes!")
	require.NoError(t, os.Mkdir(h.path("full"), 0o755))
	write(t, h.path("full/file"), "mine\n")
	write(t, h.path("flat"), "")
	at := id + ":" + h.path("mnt")
	for name, c := range map[string]struct {
		code int
		says string
		args []string
	}{
		"unknown store":          {exitcode.Usage, `no store has the id or name "unknown"`, []string{"unknown:" + h.path("u")}},
		"unknown store id":       {exitcode.Usage, `no store has the id or name "memstore_x"`, []string{"memstore_x:" + h.path("u")}},
		"ambiguous store":        {exitcode.Usage, `2 stores are called "twin"; use an id`, []string{"twin:" + h.path("u")}},
		"equal default paths":    {exitcode.Usage, "give one of them another path", []string{"notes", "Notes!", "--root", h.path("u")}},
		"path taken":             {exitcode.PathTaken, h.path("full"), []string{"notes:" + h.path("full")}},
		"parent is no directory": {exitcode.HostNotReady, h.path("flat"), []string{"notes:" + h.path("flat/mnt")}},
		"state in the mount":     {exitcode.Usage, "the state directory must not lie inside", []string{"--state-dir", h.path("mnt/state")}},
	} {
		t.Run(name, func(t *testing.T) {
			on := *h
			on.t = t
			on.fails(c.code, c.says, append([]string{"mount", at}, c.args...)...)
			on.fails(c.code, c.says, append([]string{"mount", "--daemon", at}, c.args...)...)
			assert.NoDirExists(t, h.path("mnt"))
			assert.NoDirExists(t, h.path("u"))
		})
	}
	text, err := os.ReadFile(h.path("full/file"))
	require.NoError(t, err)
	assert.Equal(t, "mine\n", string(text))
	assert.Empty(t, h.memories(h.api().Reader(id)))
}

func TestR18_LiveMountIsBusy(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	h.must("mount", "notes:"+h.path("mnt"), "--daemon")
	h.fails(exitcode.Busy, "has this store attached at this path", "mount", "notes:"+h.path("mnt"))
	h.fails(exitcode.Busy, "already mounted", "mount", "notes:"+h.path("mnt"), "--state-dir", h.path("other"))
	write(t, h.path("mnt/a.md"), "unharmed\n")
	h.must("sync")
}

func TestR16_UnmountCleansUpAfterADeadProcess(t *testing.T) {
	h := mounting(t)
	id := h.store("notes")
	cmd := h.background(nil, "mount", "notes:"+h.path("mnt"))
	h.await(h.path("mnt/.anthropic-memory-store"))
	write(t, h.path("mnt/a.md"), "acknowledged\n")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	h.must("unmount", h.path("mnt"))
	assert.NoDirExists(t, h.path("mnt"))
	h.must("mount", "notes:"+h.path("mnt"), "--daemon")
	text, err := os.ReadFile(h.path("mnt/a.md"))
	require.NoError(t, err)
	assert.Equal(t, "acknowledged\n", string(text))
	h.must("unmount", "--all")
	assert.Equal(t, map[string]string{"/a.md": "acknowledged\n"}, h.memories(h.api().Reader(id)))
}

func TestExecEndsLikeItsCommand(t *testing.T) {
	h := mounting(t)
	id := h.store("notes")
	at := "notes:" + h.path("mnt")
	for want, command := range map[int][]string{
		0:                          {"true"},
		3:                          {"sh", "-c", "exit 3"},
		128 + int(syscall.SIGTERM): {"sh", "-c", "kill $$"},
		exitcode.ExecNotFound:      {"no-such-command"},
		exitcode.ExecNotExecutable: {h.dir},
	} {
		r := h.run(append([]string{"exec", at, "--"}, command...)...)
		assert.Equal(t, want, r.code, "%v: %s", command, r.stderr)
		assert.NoDirExists(t, h.path("mnt"))
	}
	out := h.must("exec", at, "--", "sh", "-c", "echo text > "+h.path("mnt/a.md")+"; cat "+h.path("mnt/a.md"))
	assert.Equal(t, "text\n", out)
	assert.Equal(t, map[string]string{"/a.md": "text\n"}, h.memories(h.api().Reader(id)))
	h.fails(exitcode.ExecFailed, "no store has the id or name", "exec", "unknown", "--", "true")
}

func TestR19_ExecHidesSecretsAndKeepsTheUmask(t *testing.T) {
	h := mounting(t).with("ANTHROPIC_API_KEY=hidden", "ANTHROPIC_BASE_URL=http://127.0.0.1:1")
	h.store("notes")
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `umask 027; exec "$0" "$@"`, program, "exec", "notes:"+h.path("mnt"), "--", "sh", "-c", "umask; env")
	cmd.Env, cmd.Stdout = h.env, &out
	require.NoError(t, cmd.Run())
	assert.Contains(t, out.String(), "0027\n")
	assert.Contains(t, out.String(), "ANTHROPIC_BASE_URL=http://127.0.0.1:1\n")
	assert.NotContains(t, out.String(), "hidden")
}

func TestExecPassesSignalsOn(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	cmd := h.background(nil, "exec", "notes:"+h.path("mnt"), "--", "sh", "-c", "trap 'exit 7' TERM; touch "+h.path("up")+"; while :; do sleep 0.05; done")
	h.await(h.path("up"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	assert.Equal(t, 7, cmd.ProcessState.ExitCode())
	assert.NoDirExists(t, h.path("mnt"))
}

func TestR15_WhatIsRefusedIsNotPromised(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	h.must("mount", "notes:"+h.path("mnt"), "--daemon")
	write(t, h.path("mnt/broken"), "\xff")
	h.fails(exitcode.EditsKept, "1 edit was not sent and kept in the journal: the store refuses 1, until", "unmount", h.path("mnt"))
	assert.NotContains(t, read(t, h.path("state/memfs.log")), "conflict area cannot be read")
}

func TestR15_WhatCannotBeSentIsKept(t *testing.T) {
	h := mounting(t)
	server := h.with("MEMFS_LOCAL=").serve()
	url := h.with("MEMFS_LOCAL=", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+server.url)
	url.store("notes")
	at, file := "notes:"+h.path("mnt"), h.path("mnt/a.md")
	url.must("mount", at, "--daemon")
	server.stop()
	write(t, file, "kept\n")
	url.fails(exitcode.EditsKept, "1 edit was not sent and kept in the journal", "unmount", h.path("mnt"))
	assert.NoDirExists(t, h.path("mnt"))

	server.start()
	r := url.run("exec", at, "--", "sh", "-c", "kill "+server.pid()+"; echo more > "+file)
	assert.Equal(t, exitcode.ExecEditsKept, r.code, r.stderr)
}
