package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store"
)

// notes is a host with a store that is mounted at mnt and synced only when it is
// asked for.
type notes struct {
	*host
	client store.Client
	id     string
	mnt    string
}

func newNotes(t *testing.T) *notes {
	t.Helper()
	h := mounting(t).with("MEMFS_SYNC_INTERVAL=1h")
	n := &notes{host: h, id: h.store("notes"), mnt: h.path("mnt")}
	n.client = h.api().Store(n.id)
	return n
}

func (n *notes) mount() { n.must("mount", "notes:"+n.mnt, "--daemon") }

// put is a change that somebody else makes in the store.
func (n *notes) put(path, text string) store.Memory {
	n.t.Helper()
	content := []byte(text)
	page, err := n.client.List(n.t.Context(), store.ListQuery{})
	require.NoError(n.t, err)
	var m store.Memory
	for _, old := range page.Memories {
		if old.Path == path {
			m = old
		}
	}
	if m.ID == "" {
		m, err = n.client.Create(n.t.Context(), path, content)
	} else {
		m, err = n.client.Update(n.t.Context(), m.ID, store.Update{Content: &content, Expect: m.SHA})
	}
	require.NoError(n.t, err)
	return m
}

func (n *notes) write(path, text string) { write(n.t, filepath.Join(n.mnt, path), text) }

func (n *notes) read(path string) string {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.mnt, path))
	require.NoError(n.t, err)
	return string(text)
}

// conflict has the text lose at the path, against "theirs".
func (n *notes) conflict(path, text string) {
	n.t.Helper()
	n.put(path, "first\n")
	n.must("sync")
	n.write(path, text)
	n.put(path, "theirs\n")
	n.must("sync")
	require.Equal(n.t, "theirs\n", n.read(path), "R7: the store wins")
}

type lost struct {
	ID, Path, Reason, Session string
	StoreID                   string `json:"store_id"`
	MemoryID                  string `json:"memory_id"`
	SHA                       string `json:"sha256"`
	Base                      string `json:"base_sha256"`
	Remote                    string `json:"remote_sha256"`
	Size                      int64
	Time                      time.Time
	ReadOnly                  bool `json:"read_only"`
}

func (n *notes) losers() []lost {
	n.t.Helper()
	var all []lost
	require.NoError(n.t, json.Unmarshal([]byte(n.must("conflicts", "list", "--json")), &all))
	return all
}

func sha(text string) string { return store.Hash([]byte(text)).String() }

func TestR7_ConflictsAreListedShownAndRestoredInTheMount(t *testing.T) {
	n := newNotes(t)
	assert.Equal(t, "no text lost\n", n.must("conflicts"))
	assert.Equal(t, "[]\n", n.must("conflicts", "list", "--json"))
	assert.NoDirExists(t, n.path("state"), "looking makes nothing")
	n.mount()
	n.conflict("/dir/a.md", "mine\n")

	all := n.losers()
	require.Len(t, all, 1)
	e := all[0]
	assert.Regexp(t, `^\d{8}T\d{6}\.\d{3}Z-[A-Z2-7]{8}$`, e.ID)
	assert.WithinDuration(t, time.Now(), e.Time, time.Minute)
	assert.Regexp(t, `^mem_`, e.MemoryID)
	want := lost{ID: e.ID, Path: "/dir/a.md", Reason: "edit", StoreID: n.id, MemoryID: e.MemoryID, SHA: sha("mine\n"), Base: sha("first\n"),
		Remote: sha("theirs\n"), Size: 5, Time: e.Time}
	assert.Equal(t, want, e)
	lines := strings.Split(n.must("conflicts"), "\n")
	require.Len(t, lines, 3)
	assert.Regexp(t, `^ID +LOST +STORE +REASON +SIZE +PATH$`, lines[0])
	assert.Regexp(t, `^`+regexp.QuoteMeta(e.ID)+`  \S+ \S+  `+n.id+`  edit +5 +/dir/a\.md$`, lines[1])

	assert.Equal(t, "mine\n", n.must("conflicts", "show", e.ID))
	letters := e.ID[strings.Index(e.ID, "-")+1:]
	file := filepath.Join(n.mnt, "dir/a.md")
	diff := "--- " + file + "\n+++ /dir/a.md (" + e.ID + ")\n@@ -1 +1 @@\n-theirs\n+mine\n"
	assert.Equal(t, diff, n.must("conflicts", "show", strings.ToLower(letters[:5]), "--diff"))

	require.NoError(t, os.Chmod(file, 0o640))
	assert.Equal(t, e.ID+"  restored to "+file+"; the next pass sends it\n", n.must("conflicts", "restore", letters))
	assert.Equal(t, "mine\n", n.read("/dir/a.md"))
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary is left")
	assert.Empty(t, n.losers())
	n.must("sync")
	m, err := n.client.Get(t.Context(), e.MemoryID)
	require.NoError(t, err)
	assert.Equal(t, "mine\n", string(m.Content), "an ordinary edit of the same memory")
}

// A store of the same id at another endpoint is another store, though it is
// mounted and the text's is not.
func TestR7_ATextIsNotRestoredToAnotherEndpointsStore(t *testing.T) {
	n := newNotes(t)
	n.mount()
	n.conflict("/a.md", "mine\n")
	n.must("unmount", n.mnt)
	// Not by this process: closing a database file ends SQLite's locks on it.
	require.NoError(t, exec.Command("cp", "-r", n.path("stores"), n.path("elsewhere")).Run())
	other := n.with("MEMFS_LOCAL="+n.path("elsewhere"), "MEMFS_STATE_DIR="+n.path("other-state"))
	other.must("mount", n.id+":"+n.mnt, "--daemon")
	e := n.losers()[0]
	assert.Contains(t, n.must("conflicts", "show", e.ID, "--diff"), "--- /a.md (in the store)\n")
	assert.Equal(t, e.ID+"  restored to the store\n", n.must("conflicts", "restore", e.ID))
	assert.Equal(t, "theirs\n", n.read("/a.md"))
	assert.Equal(t, map[string]string{"/a.md": "mine\n"}, n.memories(n.client))
}

func TestR7_ConflictsAreRestoredInTheStoreWithoutAMount(t *testing.T) {
	n := newNotes(t)
	n.mount()
	n.conflict("/a.md", "mine\n")
	n.conflict("/b.md", "mine as well\n")
	n.conflict("/c.md", "mine, gone there\n")
	n.must("unmount", n.mnt)
	all := n.losers()
	require.Len(t, all, 3)

	diff := "--- /a.md (in the store)\n+++ /a.md (" + all[0].ID + ")\n@@ -1 +1 @@\n-theirs\n+mine\n"
	assert.Equal(t, diff, n.must("conflicts", "show", all[0].ID, "--diff"))
	other := n.with("MEMFS_LOCAL=" + n.path("elsewhere"))
	other.store("notes")
	other.fails(exitcode.Failed, "the text did not lose against local:"+n.path("elsewhere"), "conflicts", "restore", all[0].ID)
	other.fails(exitcode.Failed, "set ANTHROPIC_BASE_URL, or --local", "conflicts", "show", "--diff", all[0].ID)
	nowhere := n.with("MEMFS_LOCAL=", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=k")
	assert.Equal(t, "mine\n", nowhere.must("conflicts", "show", all[0].ID), "the text needs no store")
	require.Len(t, n.losers(), 3)

	require.NoError(t, n.client.Delete(t.Context(), all[2].MemoryID, store.Hash([]byte("theirs\n"))))
	assert.Contains(t, n.must("conflicts", "show", all[2].ID, "--diff"), "--- /dev/null\n")
	said := n.must("conflicts", "restore", all[0].ID, all[1].ID, all[2].ID)
	assert.Equal(t, all[0].ID+"  restored to the store\n"+all[1].ID+"  restored to the store\n"+all[2].ID+"  restored to the store\n", said)
	assert.Equal(t, map[string]string{"/a.md": "mine\n", "/b.md": "mine as well\n", "/c.md": "mine, gone there\n"}, n.memories(n.client))
	assert.Empty(t, n.losers())
}

func TestR10_WhatLostUnderReadOnlyAccessIsNotRestored(t *testing.T) {
	n := newNotes(t)
	n.put("/a.md", "first\n")
	n.must("mount", "notes:"+n.mnt+":ro", "--daemon")
	n.write("/a.md", "mine\n")
	n.put("/a.md", "theirs\n")
	n.must("sync")
	all := n.losers()
	require.Len(t, all, 1)
	assert.True(t, all[0].ReadOnly)
	n.fails(exitcode.Failed, "attached read-only: memfs conflicts show", "conflicts", "restore", all[0].ID)
	assert.Equal(t, "theirs\n", n.read("/a.md"))
	n.must("unmount", n.mnt)
	n.fails(exitcode.Failed, "attached read-only: memfs conflicts show", "conflicts", "restore", all[0].ID)
	assert.Equal(t, map[string]string{"/a.md": "theirs\n"}, n.memories(n.client))

	n.mount() // with the right to write it is an edit like any other
	n.must("conflicts", "restore", all[0].ID)
	assert.Equal(t, "mine\n", n.read("/a.md"))
}

func TestConflictsDrop(t *testing.T) {
	n := newNotes(t)
	n.mount()
	for _, path := range []string{"/a", "/b", "/c"} {
		n.conflict(path, "mine"+path)
	}
	n.must("unmount", n.mnt)
	all := n.losers()
	require.Len(t, all, 3)
	n.fails(exitcode.Usage, "add --yes where nobody can be asked", "conflicts", "drop", "--all")
	n.fails(exitcode.Usage, "add --yes where nobody can be asked", "conflicts", "drop", all[0].ID)
	n.fails(exitcode.Usage, "name the losing texts to drop, or --all", "conflicts", "drop", "--yes")
	n.fails(exitcode.Usage, "name the losing texts to drop, or --all", "conflicts", "drop", all[0].ID, "--all")
	n.fails(exitcode.Usage, "3 losing texts have an id with 20", "conflicts", "drop", all[0].ID[:4], "--yes")
	n.fails(exitcode.Usage, "no losing text has the id 0000", "conflicts", "drop", all[0].ID, "0000", "--yes")
	n.fails(exitcode.Usage, "no losing text has the id 0000", "conflicts", "show", "0000")
	n.fails(exitcode.Usage, `"2" is too little of an id: write 4 characters or more`, "conflicts", "show", "2")
	require.Len(t, n.losers(), 3)

	assert.Equal(t, all[1].ID+"  dropped\n", n.must("conflicts", "drop", all[1].ID, "--yes"))
	require.Len(t, n.losers(), 2)

	// One that cannot be described can still be shown and dropped.
	area, err := filepath.Glob(n.path("state/conflicts/*"))
	require.NoError(t, err)
	require.Len(t, area, 1)
	require.NoError(t, os.WriteFile(filepath.Join(area[0], all[0].ID+".json"), []byte("{"), 0o600))
	assert.Regexp(t, regexp.QuoteMeta(all[0].ID)+` .* damaged `, n.must("conflicts"))
	assert.Equal(t, "mine/a", n.must("conflicts", "show", all[0].ID))
	n.fails(exitcode.Failed, "damaged conflict", "conflicts", "restore", all[0].ID)
	assert.Equal(t, 2, strings.Count(n.must("conflicts", "drop", "--all", "--yes"), "dropped\n"))
	assert.Empty(t, n.losers())
	assert.Equal(t, "no text lost\n", n.must("conflicts", "drop", "--all", "--yes"))
}
