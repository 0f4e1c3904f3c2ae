//go:build linux

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/smalldisk"
	"memfs/store"
)

// stagedState brings about messages of the state directory.
var stagedState = map[string]func(*trouble){
	"state_volatile": func(x *trouble) {
		dir, err := os.MkdirTemp("/dev/shm", "memfs")
		require.NoError(x.t, err)
		x.t.Cleanup(func() { assert.NoError(x.t, os.RemoveAll(dir)) })
		x.start("mount", "notes:"+x.mnt, "--log-format=json", "--state-dir", dir)
	},
	"journal": func(x *trouble) {
		x.full()
		x.crowd()
		for i := range 100 { // more than the journal has in reserve
			x.created("/"+strings.Repeat(strings.Repeat("d", 250)+"/", 3)+fmt.Sprint(i), "one\n")
		}
		x.sync()
	},
	"journal_sync": func(x *trouble) { // a sync finds out what no system call tells
		x.mount()
		x.write("a.md", "one\n")
		require.NoError(x.t, os.Remove(x.only("state/replicas/*/journal")))
	},
	"journal_broken": func(x *trouble) {
		x.mount()
		write(x.t, x.path("gone"), "") // in its place no directory can be made anew
		require.NoError(x.t, unix.Renameat2(unix.AT_FDCWD, x.path("state"), unix.AT_FDCWD, x.path("gone"), unix.RENAME_EXCHANGE))
		x.t.Cleanup(func() { assert.NoError(x.t, os.Remove(x.path("state"))) })
		require.Eventually(x.t, func() bool { return os.RemoveAll(x.path("gone")) == nil }, time.Minute, time.Millisecond, "memfs may put something there meanwhile")
		require.Eventually(x.t, func() bool { return os.WriteFile(x.file("a.md"), []byte("one\n"), 0o600) != nil }, time.Minute, time.Millisecond)
	},
	"checkpoint_failed": func(x *trouble) { x.full(); x.crowd() },
	"content_not_kept": func(x *trouble) {
		x.created("/a.md", long)
		x.full("--hydrate=off")
		assert.Equal(x.t, long, read(x.t, x.file("a.md")), "it is read all the same")
	},
	"content_lost": func(x *trouble) {
		x.created("/a.md", "one\n")
		x.mount()
		require.Equal(x.t, "one\n", read(x.t, x.file("a.md")))
		f, err := os.OpenFile(x.file("a.md"), os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(x.t, err)
		_, err = f.WriteString("two\n")
		require.NoError(x.t, err)
		require.NoError(x.t, f.Close())
		x.killed()
		require.NoError(x.t, os.Remove(x.only("state/replicas/*/objects/"+store.Hash([]byte("one\n")).String())))
		x.answersSome(http.StatusNotFound, "not_found_error", func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, "/memories/") || strings.Contains(r.URL.Path, "/memory_versions")
		})
		x.start("mount", "notes:"+x.mnt, "--log-format=json")
	},
	"orphan_waits": func(x *trouble) {
		x.mount()
		x.write("a.md", "one\n")
		require.NoError(x.t, os.Rename(x.file(store.MarkerName), x.file("gone~")))
		x.killed()
		x.must("unmount", x.mnt)
		x.start("mount", "notes:"+x.path("other"), "--log-format=json")
	},
	"orphan_failed": func(x *trouble) {
		x.mount()
		x.write("a.md", "one\n")
		x.killed()
		x.must("unmount", x.mnt)
		write(x.t, x.only("state/replicas/*/journal"), "no journal")
		x.start("mount", "notes:"+x.path("other"), "--log-format=json")
	},
	"orphan": func(x *trouble) { x.opened("replicas") },
	"conflicts": func(x *trouble) {
		x.mount()
		m := x.sent("/a.md", "one\n")
		x.write("a.md", "mine\n")
		x.edited(m, "theirs\n")
		x.sync()
		text := x.only("state/conflicts/*/*.txt")
		id := strings.TrimSuffix(text, ".txt")
		write(x.t, id+".json", "no description")
		x.must("status", x.mnt)
		x.says("conflicts", "conflict area cannot be read")
		x.start("conflicts", "show", filepath.Base(id), "--log-format=json")
		x.says("conflicts", "the text is not the one that was kept")
		x.opened("conflicts")
	},
}

// long is more text than fits into what a full disk leaves.
var long = strings.Repeat("z", 90_000)

// full mounts the store with a state directory on whose disk no byte is free.
func (x *trouble) full(flags ...string) {
	x.t.Helper()
	smalldisk.Mount(x.t, x.path("small"), "2m")
	x.mount(append(flags, "--state-dir", x.path("small"))...)
	_, err := smalldisk.Fill(x.path("small"))
	require.NoError(x.t, err)
}

// crowd writes until the journal's own room is taken, too.
func (x *trouble) crowd() {
	x.t.Helper()
	var err error
	for i := 0; err == nil && i < 200; i++ {
		err = os.WriteFile(x.file(fmt.Sprint(i, ".md")), []byte(long), 0o600)
	}
	require.ErrorIs(x.t, err, syscall.ENOSPC)
}

// only is the one path below the host's directory that matches.
func (x *trouble) only(pattern string) string {
	x.t.Helper()
	found, err := filepath.Glob(x.path(pattern))
	require.NoError(x.t, err)
	require.Len(x.t, found, 1)
	return found[0]
}

// opened mounts the store while somebody lets others into a directory of the
// state that is in use already: memfs looks into it no more.
func (x *trouble) opened(name string) {
	x.t.Helper()
	dir := filepath.Join(x.path("state"), name)
	listed := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/memories") {
			assert.NoError(x.t, os.Chmod(dir, 0o755))
		}
		return false
	}
	x.fault.Store(&listed)
	x.start("mount", "notes:"+x.path("other"), "--log-format=json")
	x.t.Cleanup(func() {
		x.fault.Store(nil)
		assert.NoError(x.t, os.Chmod(dir, 0o700))
	})
}
