package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store"
)

type inspected struct {
	File, Mount, Path, State, Reason, ID string
	StoreID                              string    `json:"store_id"`
	VersionID                            string    `json:"version_id"`
	SHA                                  string    `json:"sha256"`
	Base                                 string    `json:"base_sha256"`
	SyncedAt                             time.Time `json:"synced_at"`
	LastPass                             time.Time `json:"last_pass"`
}

func (n *notes) inspect(file string) (v inspected) {
	n.t.Helper()
	require.NoError(n.t, json.Unmarshal([]byte(n.must("inspect", "--json", filepath.Join(n.mnt, file))), &v))
	return v
}

// TestInspectSeesTheMountAlone: no control socket, no API, no state directory.
func TestInspectSeesTheMountAlone(t *testing.T) {
	n := newNotes(t)
	m := n.put("/dir/a.md", "first\n")
	n.mount()
	began := time.Now().Add(-time.Second)
	n.must("sync")
	inside := *n
	inside.host = n.with("MEMFS_LOCAL=", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "STATE_DIRECTORY="+n.path("none"),
		"RUNTIME_DIRECTORY="+n.path("none"))
	file := filepath.Join(n.mnt, "dir/a.md")

	require.Equal(t, "first\n", n.read("/dir/a.md"))
	v := inside.inspect("dir/a.md")
	assert.Equal(t, inspected{File: file, Mount: n.mnt, Path: "/dir/a.md", State: "clean", ID: m.ID, StoreID: n.id, VersionID: m.VersionID,
		SHA: sha("first\n"), Base: sha("first\n"), SyncedAt: v.SyncedAt, LastPass: v.LastPass}, v)
	assert.True(t, m.UpdatedAt.Equal(v.SyncedAt))
	assert.True(t, v.LastPass.After(began), v.LastPass)

	n.write("/dir/a.md", "second\n")
	v = inside.inspect("dir/a.md")
	assert.Equal(t, "dirty", v.State)
	assert.Equal(t, sha("second\n"), v.SHA)
	assert.Equal(t, sha("first\n"), v.Base)
	assert.Regexp(t, `^path +/dir/a\.md
store +`+n.id+`
state +dirty
memory +`+m.ID+`
version +`+m.VersionID+`
sha256 +`+sha("second\n")+`
agreed sha256 +`+sha("first\n")+`
agreed at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d
last pass +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d
$`, inside.must("inspect", file))

	n.write("/.#swap", "x")
	v = inside.inspect(".#swap")
	assert.Equal(t, "scratch", v.State)
	assert.NotEmpty(t, v.Reason)
	assert.Empty(t, v.ID)
	n.write("/bad.md", "\xff")
	n.fails(exitcode.EditsKept, "1 file is refused", "sync")
	assert.Equal(t, "refused", inside.inspect("bad.md").State)
	require.NoError(t, os.Remove(filepath.Join(n.mnt, "bad.md")))

	inside.fails(exitcode.Failed, "is a directory: name a file in it", "inspect", filepath.Dir(file))
	inside.fails(exitcode.Failed, "there is no file "+file+".no in the mount", "inspect", file+".no")
	inside.fails(exitcode.Failed, "not in a memfs mount", "inspect", n.path("run"))
	inside.fails(exitcode.Usage, "name one file in a mount", "inspect")
}

func TestR13_RepairPutsTheMarkerBack(t *testing.T) {
	n := newNotes(t)
	n.mount()
	marker := filepath.Join(n.mnt, store.MarkerName)
	want, err := os.ReadFile(marker)
	require.NoError(t, err)
	assert.Equal(t, "nothing was wrong with the marker of "+n.mnt+"\n", n.must("repair", n.mnt))

	n.write("/dir.md", "waits\n")
	for name, harm := range map[string]func() error{
		"removed": func() error { return os.Remove(marker) },
		"altered": func() error { return os.WriteFile(marker, []byte("version 2\nmemstore_other"), 0o600) },
		"longer":  func() error { return os.WriteFile(marker, append(want, '\n'), 0o600) },
		"renamed": func() error { return os.Rename(marker, filepath.Join(n.mnt, ".#away")) },
		"closed":  func() error { return os.WriteFile(marker, nil, 0o600) },
	} {
		require.NoError(t, harm(), name)
		n.fails(exitcode.EditsKept, "memfs repair "+n.mnt, "sync")
		require.Empty(t, n.memories(n.client), "nothing is sent: %s", name)
		said := n.must("repair", filepath.Join(n.mnt, "dir.md"))
		assert.Equal(t, "the marker of "+n.mnt+" is back: syncing goes on with the next pass\n", said, name)
		got, err := os.ReadFile(marker)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
	n.must("sync")
	assert.Equal(t, map[string]string{"/dir.md": "waits\n"}, n.memories(n.client), "R13: sync goes on, and the marker is not sent")

	require.NoError(t, os.Remove(marker))
	require.NoError(t, os.Mkdir(marker, 0o700))
	n.fails(exitcode.Failed, "is a directory: move it away first", "repair", n.mnt)
	require.NoError(t, os.Remove(marker))
	n.must("repair", n.mnt)
	n.fails(exitcode.Failed, "not in a memfs mount", "repair", n.path("run"))
	n.fails(exitcode.Usage, "name a mounted path", "repair")
}

func TestADeadMountIsNamed(t *testing.T) {
	n := newNotes(t)
	cmd := n.background(nil, "mount", "notes:"+n.mnt)
	n.await(filepath.Join(n.mnt, store.MarkerName))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for _, command := range []string{"inspect", "repair"} {
		n.fails(exitcode.Failed, "is dead: memfs unmount "+regexp.QuoteMeta(n.mnt), command, n.mnt)
	}
	n.must("unmount", n.mnt)
}
