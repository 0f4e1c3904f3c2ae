package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store/claude"
)

// orphaned is a host on which a memfs was killed with edits that were not sent.
func orphaned(t *testing.T, mount string, change func(mnt string)) (h *host, server *server, id string) {
	t.Helper()
	h = mounting(t)
	server = h.with("MEMFS_LOCAL=").serve()
	h = h.with("MEMFS_LOCAL=", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+server.url, "MEMFS_SYNC_INTERVAL=60")
	id = h.store("notes")
	h.must("exec", "notes:"+h.path("first"), "--", "sh", "-c", "cd "+h.path("first")+" && echo old > old.md && echo gone > gone.md")
	h.kill(mount, change)
	return h, server, id
}

// kill attaches, changes something and kills memfs.
func (h *host) kill(mount string, change func(mnt string)) {
	h.t.Helper()
	mnt := h.path("mnt")
	h.must("mount", strings.ReplaceAll(mount, "MNT", mnt), "--daemon")
	change(mnt)
	var mounts []struct{ PID int }
	require.NoError(h.t, json.Unmarshal([]byte(h.must("status", mnt, "--json")), &mounts))
	require.Len(h.t, mounts, 1)
	require.NoError(h.t, syscall.Kill(mounts[0].PID, syscall.SIGKILL))
	require.Eventually(h.t, func() bool { return h.listed()["state"] != "live" }, time.Minute, 10*time.Millisecond)
	h.must("unmount", mnt) // the dead mount
}

// memories are the paths and contents of one of the server's stores.
func (s *server) memories(id string) map[string]string {
	s.host.t.Helper()
	api, err := claude.New(claude.Config{BaseURL: s.url, Credential: "any"})
	require.NoError(s.host.t, err)
	defer api.Close()
	return s.host.memories(api.Reader(id))
}

func edit(t *testing.T) func(mnt string) {
	return func(mnt string) {
		require.NoError(t, os.Mkdir(filepath.Join(mnt, "dir"), 0o700))
		write(t, filepath.Join(mnt, "dir", "new.md"), "new\n")
		write(t, filepath.Join(mnt, "old.md"), "changed\n")
		require.NoError(t, os.Remove(filepath.Join(mnt, "gone.md")))
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// listed is the one leftover that recover list shows.
func (h *host) listed() map[string]any {
	h.t.Helper()
	var found []map[string]any
	require.NoError(h.t, json.Unmarshal([]byte(h.must("recover", "list", "--json")), &found))
	require.Len(h.t, found, 1)
	return found[0]
}

func TestRecoverShowsSavesAndSends(t *testing.T) {
	h, server, store := orphaned(t, "notes:MNT", edit(t))
	found := h.listed()
	id := found["id"].(string)
	assert.Regexp(t, `^[0-9a-f]{8}$`, id)
	delete(found, "changed")
	assert.Equal(t, map[string]any{"id": id, "store": store, "endpoint": server.url, "path": h.path("mnt"), "state": "unsent",
		"edits": []any{"/dir/new.md", "/old.md"}, "deletes": []any{"/gone.md"}}, found)
	assert.Regexp(t, `^ID +STATE +STORE +PATH +EDITS +DELETES +CHANGED +ENDPOINT\n`+id+` +unsent +`+store+` +`+
		regexp.QuoteMeta(h.path("mnt"))+` +2 +1 +20\S+ \S+ +`+server.url+`\n$`, h.must("recover"))

	out := h.must("recover", "export", "saved", id)
	assert.Contains(t, out, "deleted here, and not in the store: /gone.md\n2 files saved\n")
	assert.Equal(t, "new\n", fileText(t, h.path("saved/"+id+"/dir/new.md")))
	assert.Equal(t, "changed\n", fileText(t, h.path("saved/"+id+"/old.md")))
	h.must("recover", "export", "saved", h.path("mnt"))
	assert.Equal(t, "changed\n", fileText(t, h.path("saved/"+id+"/old.md.2")), "nothing is overwritten")

	r := h.run("recover", "push")
	require.Equal(t, exitcode.OK, r.code, r.stderr)
	assert.Contains(t, r.stderr, "sending to "+server.url+" with ANTHROPIC_API_KEY\n")
	assert.NotContains(t, r.stderr, "any")
	assert.Equal(t, id+"  "+store+": 2 sent, 1 deleted, 0 conflicts\n", r.stdout)
	assert.Equal(t, map[string]string{"/dir/new.md": "new\n", "/old.md": "changed\n"}, server.memories(store))
	assert.Equal(t, "nothing is left on this host\n", h.must("recover", "list"))
	assert.Equal(t, "nothing is left to send\n", h.must("recover", "push"))
	h.fails(exitcode.Usage, "nothing of \"4f2a91c3\" is left on this host", "recover", "push", "4f2a91c3")
}

func TestRecoverDropAsksForYes(t *testing.T) {
	h, server, store := orphaned(t, "notes:MNT", edit(t))
	r := h.run("recover", "drop", store)
	assert.Equal(t, exitcode.Usage, r.code)
	assert.Contains(t, r.stdout, "2 edits and 1 delete would be discarded\n")
	assert.Contains(t, r.stderr, "memfs: nothing was discarded: add --yes to discard it\n")
	h.listed()
	assert.Contains(t, h.must("recover", "drop", store, "--yes"), "2 edits and 1 delete discarded\n")
	assert.Equal(t, "nothing is left on this host\n", h.must("recover"))
	assert.Equal(t, map[string]string{"/gone.md": "gone\n", "/old.md": "old\n"}, server.memories(store))
}

func TestRecoverNeedsTheStore(t *testing.T) {
	h, server, _ := orphaned(t, "notes:MNT", edit(t))
	id := h.listed()["id"].(string)
	h.with("ANTHROPIC_BASE_URL=http://127.0.0.1:1").fails(exitcode.EditsKept,
		id+" belongs to "+server.url+": ANTHROPIC_BASE_URL="+server.url+" memfs recover push", "recover", "push")
	server.stop()
	h.fails(exitcode.Unreachable, "check the network", "recover", "push")
	assert.Len(t, h.listed()["edits"], 2)
}

func TestRecoverNamesALiveProcess(t *testing.T) {
	h := mounting(t)
	h.store("notes")
	h.must("mount", "notes:"+h.path("mnt"), "--daemon")
	found := h.listed()
	assert.Equal(t, "live", found["state"])
	assert.NotZero(t, found["pid"])
	for _, args := range [][]string{{"push"}, {"drop", "--yes"}, {"export", "saved"}} {
		h.fails(exitcode.Busy, "is in use by process", append(append([]string{"recover"}, args...), h.path("mnt"))...)
		h.must(append([]string{"recover"}, args...)...) // it is not meant
	}
}

func TestR16_RecoverNeverSendsWhatWasChangedReadOnly(t *testing.T) {
	h, server, store := orphaned(t, "notes:MNT:ro", edit(t))
	found := h.listed()
	assert.Equal(t, "read-only", found["state"])
	h.fails(exitcode.Failed, "never sent: memfs recover export saves it", "recover", "push", store)
	assert.Equal(t, "nothing is left to send\n", h.must("recover", "push"))
	assert.Contains(t, h.must("recover", "export", "saved"), "2 files saved\n")
	h.must("recover", "drop", "--yes")
	assert.Equal(t, map[string]string{"/gone.md": "gone\n", "/old.md": "old\n"}, server.memories(store))
}

func TestR16_BrokenMarkerWaitsForRecover(t *testing.T) {
	h, server, store := orphaned(t, "notes:MNT", func(mnt string) {
		edit(t)(mnt)
		write(t, filepath.Join(mnt, ".anthropic-memory-store"), "something else")
	})
	assert.Equal(t, "marker", h.listed()["state"])
	before := server.memories(store)
	r := h.run("exec", "notes:"+h.path("other"), "--", "sh", "-c", "sleep 1") // as another session would
	require.Zero(t, r.code, r.stderr)
	assert.Contains(t, r.stderr, "which wait: its marker file is missing or altered")
	assert.Equal(t, before, server.memories(store))
	h.must("recover", "push")
	assert.Equal(t, map[string]string{"/dir/new.md": "new\n", "/old.md": "changed\n"}, server.memories(store))
}
