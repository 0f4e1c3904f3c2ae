package main_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store"
)

// seen is one mount in the JSON of status.
type seen struct {
	PID    int
	Mount  string
	Fault  string
	Status memfs.Status
	Notes  []struct{ Code, Problem, Remedy string }
}

func (h *host) status(path string) seen {
	h.t.Helper()
	var mounts []seen
	require.NoError(h.t, json.Unmarshal([]byte(h.must("status", path, "--json")), &mounts))
	require.Len(h.t, mounts, 1)
	return mounts[0]
}

// quiet is a host on which passes come when they are asked for.
func quiet(t *testing.T) *host { return mounting(t).with("MEMFS_SYNC_INTERVAL=3600") }

// states counts the files of a mount by what each says of itself.
func states(t *testing.T, mnt string) map[string]int {
	t.Helper()
	got := map[string]int{}
	require.NoError(t, filepath.WalkDir(mnt, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == store.MarkerName {
			return err
		}
		value := make([]byte, 64)
		n, err := unix.Getxattr(path, "user.memfs.state", value)
		if err == nil {
			got[string(value[:n])]++
		}
		return err
	}))
	return got
}

func TestR20_StatusAddsUp(t *testing.T) {
	h := quiet(t).with("MEMFS_HYDRATE=off")
	id := h.store("notes")
	client := h.api().Store(id)
	for _, path := range []string{"/a", "/dir/b", "/c", "/d"} {
		_, err := client.Create(t.Context(), path, []byte("theirs: "+path))
		require.NoError(t, err)
	}
	mnt := h.path("mnt")
	h.must("mount", "notes:"+mnt, "--daemon")
	write(t, filepath.Join(mnt, "broken"), "\xff")
	write(t, filepath.Join(mnt, "a"), "mine\n")
	memory := h.memory(client, "/a")
	text := []byte("theirs, too\n")
	_, err := client.Update(t.Context(), memory.ID, store.Update{Content: &text, Expect: memory.SHA})
	require.NoError(t, err)
	h.fails(exitcode.EditsKept, mnt+": 1 file is refused by the store: change what", "sync", mnt) // and a conflict
	write(t, filepath.Join(mnt, "scratch~"), "local")
	write(t, filepath.Join(mnt, "new"), "dirty")
	require.NoError(t, os.Remove(filepath.Join(mnt, "c")))
	_, err = os.ReadFile(filepath.Join(mnt, "d"))
	require.NoError(t, err)

	m := h.status(mnt)
	s := m.Status
	assert.Equal(t, map[string]int{"clean": 2, "remote": 1, "dirty": 1, "refused": 1, "scratch": 1}, states(t, mnt))
	assert.Equal(t, map[string]int{"clean": s.Clean, "remote": s.Remote, "dirty": s.Dirty, "refused": s.Refused, "scratch": s.Scratch}, states(t, mnt))
	assert.Equal(t, s.Clean+s.Remote+s.Dirty+s.Held+s.Refused, s.Memories)
	assert.Equal(t, 1, s.Deleted)
	assert.Equal(t, 1, s.Conflicts)
	assert.Zero(t, s.Sending)
	assert.WithinDuration(t, time.Now(), s.OldestUnsent, time.Minute)
	assert.EqualValues(t, 1, s.Sync.Total.Passes)
	assert.Positive(t, s.Sync.Total.Requests)
	assert.True(t, s.Sync.Next.After(time.Now()))
	var codes []string
	for _, n := range m.Notes {
		codes = append(codes, n.Code)
	}
	assert.Equal(t, []string{"refused", "conflict"}, codes)

	outside := h.with("RUNTIME_DIRECTORY=" + h.path("nothing-here"))
	for _, command := range []string{"sync", "unmount"} {
		outside.fails(exitcode.Failed, mnt+" is mounted by a memfs process that cannot be reached from here", command, mnt)
	}
	inside := outside.status(mnt)
	assert.Zero(t, inside.PID, "a sandbox that sees only the mount")
	inside.Status.Sync.Next, s.Sync.Next = time.Time{}, time.Time{}
	assert.Equal(t, s.Status, inside.Status.Status)
	assert.Equal(t, s.Sync, inside.Status.Sync)

	h.fails(exitcode.EditsKept, "(/broken)", "sync", mnt)
	h.fails(exitcode.EditsKept, "1 file is refused", "status", "--check=synced", mnt)
	s = h.status(mnt).Status
	assert.Equal(t, 0, s.Dirty+s.Deleted+s.Sending)
	assert.True(t, s.OldestUnsent.IsZero())
	require.NoError(t, os.Remove(filepath.Join(mnt, "broken"))) // or the end would be with edits kept
}

// memory is the one at a path.
func (h *host) memory(client store.Reader, path string) store.Memory {
	h.t.Helper()
	page, err := client.List(h.t.Context(), store.ListQuery{})
	require.NoError(h.t, err)
	i := slices.IndexFunc(page.Memories, func(m store.Memory) bool { return m.Path == path })
	require.GreaterOrEqual(h.t, i, 0)
	return page.Memories[i]
}

func TestStatusCheck(t *testing.T) {
	h := quiet(t)
	server := h.with("MEMFS_LOCAL=").serve()
	url := h.with("MEMFS_LOCAL=", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+server.url)
	url.store("notes")
	mnt := h.path("mnt")
	cmd := url.background(nil, "mount", "notes:"+mnt)
	h.await(filepath.Join(mnt, store.MarkerName))
	assert.Empty(t, h.must("status", "--check", mnt))
	h.must("status", "--check=synced", mnt)

	require.NoError(t, os.Rename(filepath.Join(mnt, store.MarkerName), filepath.Join(mnt, "gone~")))
	h.must("status", "--check=live", mnt)
	h.fails(exitcode.EditsKept, "marker file is missing or altered, nothing is synced: memfs repair "+mnt, "status", "--check=synced", mnt)
	h.fails(exitcode.EditsKept, "marker file is missing or altered, nothing is synced: memfs repair "+mnt, "sync", mnt)
	require.NoError(t, os.Rename(filepath.Join(mnt, "gone~"), filepath.Join(mnt, store.MarkerName)))

	server.stop()
	url.fails(exitcode.Unreachable, "", "sync", mnt)
	h.must("status", "--check", mnt)
	h.fails(exitcode.Unreachable, "the last pass failed", "status", "--check=synced", mnt)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	h.fails(exitcode.Failed, "is dead: memfs unmount "+mnt+" cleans up", "status", "--check", mnt)
	assert.Regexp(t, `attention +the process that served the mount at `+mnt+` is dead`, h.must("status", mnt))
	h.fails(exitcode.Failed, "is not mounted by memfs", "status", "--check", h.path("elsewhere"))
}

func TestStatusWatch(t *testing.T) {
	h := quiet(t)
	h.store("notes")
	mnt := h.path("mnt")
	h.must("mount", "notes:"+mnt, "--daemon")
	cmd := exec.CommandContext(t.Context(), program, "status", mnt, "--watch=0.1")
	cmd.Env = h.env
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 60})
	require.NoError(t, err)
	defer func() { require.NoError(t, terminal.Close()) }()
	shown := make(chan string)
	go func() {
		defer close(shown)
		part := make([]byte, 4096)
		for {
			n, err := terminal.Read(part)
			if n > 0 {
				shown <- string(part[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	all := ""
	await := func(text string) {
		t.Helper()
		for !strings.Contains(all, text) {
			more, ok := <-shown
			require.True(t, ok, "%q never came, but: %s", text, all)
			all += more
		}
	}
	await("0: 0 clean, 0 unfetched, 0 dirty")
	write(t, filepath.Join(mnt, "a.md"), "one\n")
	await("1: 0 clean, 0 unfetched, 1 dirty")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	await("\x1b[?25h") // the cursor is back
	for range shown {
	}
	require.NoError(t, cmd.Wait())
	assert.NotContains(t, all, "\x1b[2J", "it would flicker")
	for _, line := range strings.Split(all[:strings.Index(all, "\x1b[?25h")], "\r\n") {
		assert.LessOrEqual(t, len([]rune(strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "", "\x1b[?1049h\x1b[?25l", "").Replace(line))), 60)
	}

	r, w, err := os.Pipe()
	require.NoError(t, err)
	plain := h.background(w, "status", mnt, "--watch=0.1", "--json")
	require.NoError(t, w.Close())
	lines := json.NewDecoder(r)
	for range 2 {
		var mounts []seen
		require.NoError(t, lines.Decode(&mounts))
		assert.Equal(t, 1, mounts[0].Status.Dirty)
	}
	require.NoError(t, plain.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.NotContains(t, string(rest), "\x1b")
	require.NoError(t, plain.Wait())
}
