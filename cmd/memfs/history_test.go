package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store/local"
)

type versionShown struct {
	ID        string
	MemoryID  string `json:"memory_id"`
	Operation string
	Path      string
	Size      *int64
	SHA       string                    `json:"sha256"`
	CreatedAt time.Time                 `json:"created_at"`
	CreatedBy struct{ Type, ID string } `json:"created_by"`
	Redacted  time.Time                 `json:"redacted_at"`
}

func (n *notes) history(file string) (all []versionShown) {
	n.t.Helper()
	require.NoError(n.t, json.Unmarshal([]byte(n.must("history", filepath.Join(n.mnt, file), "--json")), &all))
	return all
}

// redact redacts a version, as an administrator would.
func (n *notes) redact(version string) {
	n.t.Helper()
	server, err := local.Open(n.path("stores"), local.Options{})
	require.NoError(n.t, err)
	defer func() { assert.NoError(n.t, server.Close()) }()
	request := httptest.NewRequestWithContext(n.t.Context(), http.MethodPost,
		fmt.Sprintf("/v1/memory_stores/%s/memory_versions/%s/redact", n.id, version), nil)
	request.Header.Set("x-api-key", "any")
	request.Header.Set("anthropic-beta", "agent-memory-2026-07-22")
	request.Header.Set("anthropic-version", "2023-06-01")
	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, request)
	require.Equal(n.t, http.StatusOK, answer.Code, answer.Body)
}

func TestHistoryAndRestore(t *testing.T) {
	n := newNotes(t)
	m := n.put("/a.md", "one\ntwo\n")
	n.mount()
	file := filepath.Join(n.mnt, "a.md")
	n.write("/a.md", "one\n2\n")
	n.must("sync")
	require.NoError(t, os.Rename(file, filepath.Join(n.mnt, "b.md")))
	n.must("sync")
	file = filepath.Join(n.mnt, "b.md")

	all := n.history("b.md")
	require.Len(t, all, 3)
	for i, want := range []versionShown{
		{Operation: "modified", Path: "/b.md", SHA: sha("one\n2\n"), Size: new(int64(6))},
		{Operation: "modified", Path: "/a.md", SHA: sha("one\n2\n"), Size: new(int64(6))},
		{Operation: "created", Path: "/a.md", SHA: sha("one\ntwo\n"), Size: new(int64(8))},
	} {
		got := all[i]
		assert.NotEmpty(t, got.CreatedBy.Type)
		assert.WithinDuration(t, time.Now(), got.CreatedAt, time.Minute)
		want.ID, want.MemoryID, want.CreatedAt, want.CreatedBy = got.ID, m.ID, got.CreatedAt, got.CreatedBy
		assert.Equal(t, want, got)
	}
	assert.Equal(t, m.VersionID, all[2].ID)
	lines := strings.Split(n.must("history", file), "\n")
	require.Len(t, lines, 5)
	assert.Regexp(t, `^VERSION +TIME +OPERATION +SIZE +SHA256 +BY +PATH$`, lines[0])
	assert.Regexp(t, `^`+m.VersionID+`  \S+ \S+  created +8 +`+sha("one\ntwo\n")[:12]+` +api \S+ +/a\.md$`, lines[3])

	diff := "--- " + file + "\n+++ " + file + " (" + m.VersionID + ")\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n"
	r := n.run("restore", file, m.VersionID)
	assert.Equal(t, exitcode.Usage, r.code, r.stderr)
	assert.Equal(t, diff, r.stdout)
	assert.Equal(t, "memfs: nothing was changed: add --yes where nobody can be asked\n", r.stderr)
	assert.Equal(t, "one\n2\n", n.read("b.md"))

	said := n.must("restore", file, m.VersionID[:len(m.VersionID)-4], "--yes")
	assert.Equal(t, diff+file+" has the text of "+m.VersionID+"; the next pass sends it\n", said)
	assert.Equal(t, "one\ntwo\n", n.read("b.md"))
	assert.Equal(t, file+" holds the text of "+m.VersionID+" already\n", n.must("restore", file, m.VersionID))
	n.must("sync")
	require.Len(t, n.history("b.md"), 4)
	assert.Equal(t, map[string]string{"/b.md": "one\ntwo\n"}, n.memories(n.client))

	n.fails(exitcode.Usage, "4 versions of /b.md begin with memver_", "restore", file, "memver_", "--yes")
	n.fails(exitcode.Usage, "/b.md has no version memver_x", "restore", file, "memver_x", "--yes")
	n.fails(exitcode.Usage, "name a file in a mount and one of its versions", "restore", file)
	n.fails(exitcode.Failed, "the store has no version of /never.md", "history", filepath.Join(n.mnt, "never.md"))
	n.fails(exitcode.Failed, "not in a memfs mount", "history", n.path("run/x"))
	nowhere := n.with("MEMFS_LOCAL=", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=k")
	nowhere.fails(exitcode.Unreachable, "check the network", "history", file)
}

func TestRestoreBringsADeletedFileBack(t *testing.T) {
	n := newNotes(t)
	n.mount()
	file := filepath.Join(n.mnt, "deep/er/a.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	n.write("deep/er/a.md", "text\n")
	n.must("sync")
	require.NoError(t, os.RemoveAll(filepath.Join(n.mnt, "deep")))
	n.must("sync")
	require.Empty(t, n.memories(n.client))

	all := n.history("deep/er/a.md")
	require.Len(t, all, 2)
	assert.Equal(t, "deleted", all[0].Operation)
	assert.Nil(t, all[0].Size)
	n.fails(exitcode.Failed, "is a delete and has no text: choose the one before it", "restore", file, all[0].ID, "--yes")
	assert.Contains(t, n.must("restore", file, all[1].ID, "--yes"), "--- /dev/null\n")
	n.must("sync")
	assert.Equal(t, map[string]string{"/deep/er/a.md": "text\n"}, n.memories(n.client))
}

func TestR19_ARedactedVersionIsShownAndNotRestored(t *testing.T) {
	n := newNotes(t)
	secret := n.put("/a.md", "secret\n")
	n.put("/a.md", "harmless\n")
	n.mount()
	n.redact(secret.VersionID)
	file := filepath.Join(n.mnt, "a.md")
	all := n.history("a.md")
	require.Len(t, all, 2)
	assert.False(t, all[1].Redacted.IsZero())
	assert.Empty(t, all[1].SHA+all[1].Path)
	assert.Regexp(t, secret.VersionID+`  \S+ \S+  created +- +- +api \S+ +redacted \d{4}-`, n.must("history", file))
	n.fails(exitcode.Failed, "was redacted on", "restore", file, secret.VersionID, "--yes")
	assert.Equal(t, "harmless\n", n.read("a.md"))
}

// TestR19_ARedactedLoserIsPurgedByTheNextMount: what version held the text was
// noted while it could be seen.
func TestR19_ARedactedLoserIsPurgedByTheNextMount(t *testing.T) {
	n := newNotes(t)
	n.mount()
	n.conflict("/a.md", "secret\n")
	secret := n.put("/a.md", "secret\n")
	n.put("/a.md", "harmless\n")
	n.must("unmount", n.mnt)
	n.mount()
	n.must("sync")
	require.Len(t, n.losers(), 1)
	n.must("unmount", n.mnt)
	n.redact(secret.VersionID)
	n.mount()
	n.must("sync")
	assert.Empty(t, n.losers())
	n.write("/a.md", "secret\n")
	n.fails(exitcode.EditsKept, "1 file is refused", "sync")
	assert.Equal(t, "refused", n.inspect("a.md").State)
	assert.Equal(t, map[string]string{"/a.md": "harmless\n"}, n.memories(n.client))
	n.write("/a.md", "harmless\n")
}

func TestR10_NothingIsRestoredInAReadOnlyMount(t *testing.T) {
	n := newNotes(t)
	old := n.put("/a.md", "old\n")
	n.put("/a.md", "new\n")
	n.must("mount", "notes:"+n.mnt+":ro", "--daemon")
	n.fails(exitcode.Failed, "is mounted read-only", "restore", filepath.Join(n.mnt, "a.md"), old.VersionID, "--yes")
	assert.Equal(t, "new\n", n.read("a.md"))
}
