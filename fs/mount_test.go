//go:build linux

package fs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMountTableNamesTheStore(t *testing.T) {
	m := newMount(t, nil)
	table, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	var line string
	for l := range strings.Lines(string(table)) {
		if strings.Contains(l, m.path) {
			line = l
		}
	}
	columns := strings.Fields(line)
	require.Len(t, columns, 6)
	assert.Equal(t, "memfs:"+testStore, columns[0])
	assert.Equal(t, "fuse.memfs", columns[2])
	for _, option := range []string{"rw", "nosuid", "nodev", "default_permissions"} {
		assert.Contains(t, strings.Split(columns[3], ","), option)
	}
	all, err := Mounts()
	require.NoError(t, err)
	var found []MountInfo
	for _, info := range all {
		if info.Path == m.path {
			found = append(found, info)
		}
	}
	require.Len(t, found, 1)
	assert.Equal(t, testStore, found[0].StoreID)
	assert.False(t, found[0].ReadOnly)
	assert.False(t, Stale(m.path))
}

func TestR10_StrictIsEROFSForEverybody(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"}, func(c *childConfig) { c.Strict = true })
	assert.Equal(t, "text", m.read("a"))
	_, err := os.OpenFile(m.at("a"), os.O_WRONLY, 0)
	assert.ErrorIs(t, err, unix.EROFS)
	assert.ErrorIs(t, os.Remove(m.at("a")), unix.EROFS)
	assert.ErrorIs(t, os.Mkdir(m.at("d"), 0o755), unix.EROFS)
	assert.ErrorIs(t, os.Chmod(m.at("a"), 0o600), unix.EROFS)
	m.put("/b", "remote changes arrive all the same")
	m.eventually("b", func() bool { return exists(m.at("b")) })
}

func TestNeverOnTopOfALiveMount(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	r := m.ask(order{Do: "mount again", Path: m.path})
	assert.Contains(t, r.Err, ErrMounted.Error())
	assert.Contains(t, r.Err, testStore)
	require.NoError(t, Detach(m.path)) // leaves it alone: it lives
	assert.Equal(t, "text", m.read("a"))
}

func TestClaimIsForOne(t *testing.T) {
	dir := t.TempDir()
	release, err := claim(dir)
	require.NoError(t, err)
	_, err = claim(dir)
	assert.ErrorIs(t, err, ErrMounted)
	release()
	release, err = claim(dir)
	require.NoError(t, err)
	release()
	_, err = claim(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestRealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink("target", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("link", filepath.Join(dir, "chain")))
	for name, want := range map[string]string{"plain": "plain", "link": "target", "chain": "target"} {
		got, err := realPath(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(dir, want), got)
	}
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	_, err = realPath(filepath.Join(dir, "loop"))
	assert.ErrorIs(t, err, unix.ELOOP)
}

func TestExplainNamesTheRemedy(t *testing.T) {
	for cause, want := range map[error]error{
		unix.EPERM: ErrNotPermitted, unix.EACCES: ErrDeviceAccess, unix.ENODEV: ErrNoDevice,
	} {
		assert.ErrorIs(t, explain(cause), want)
		assert.ErrorIs(t, explain(cause), cause)
	}
	other := errors.New("other")
	assert.Equal(t, other, explain(other))
}

// TestKilledMountIsCleanedAway: a dead mount answers ENOTCONN, and the next
// mount at its path takes it away.
func TestKilledMountIsCleanedAway(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	held, err := os.Open(m.at("a"))
	require.NoError(t, err)
	defer held.Close()
	m.kill()
	m.eventually("dead", func() bool { return Stale(m.path) })

	again := startChild(t, m.config)
	require.Empty(t, again.reply().Err)
	assert.False(t, Stale(m.path))
	assert.Equal(t, "text", again.read("a"))
	here, err := mountsAt(m.path)
	require.NoError(t, err)
	assert.Len(t, here, 1)

	again.kill()
	m.eventually("dead again", func() bool { return Stale(m.path) })
	require.NoError(t, Detach(m.path))
	assert.DirExists(t, m.path)
	require.NoError(t, Detach(m.path), "nothing there")
}

func TestForeignUnmountIsNoticed(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	m.read("a")
	require.NoError(t, unmount(m.path))
	m.do(order{Do: "await", Timeout: soon})
	m.do(order{Do: "unmount", Timeout: time.Second}) // nothing left to do, and no error
}

func TestUnmountOfAnIdleMount(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	m.read("a")
	m.do(order{Do: "unmount", Timeout: soon})
	assert.False(t, exists(m.at("a")))
	m.do(order{Do: "await", Timeout: soon})
	assert.Less(t, m.do(order{Do: "goroutines"}).Goroutines, 15)
}

// TestR15_BusyMountIsDetachedAndServed: its holders are named, the path is
// free, and they keep their files until they let go.
func TestR15_BusyMountIsDetachedAndServed(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text", "/d/b": "b"})
	sleeper := exec.Command("sleep", "60")
	sleeper.Dir = m.at("d")
	require.NoError(t, sleeper.Start())
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	held, err := os.OpenFile(m.at("a"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer held.Close()
	page, err := unix.Mmap(int(held.Fd()), 0, 4, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)

	started := time.Now()
	r := m.ask(order{Do: "unmount", Timeout: 300 * time.Millisecond})

	assert.Less(t, time.Since(started), soon)
	assert.Contains(t, r.Err, "in use by")
	uses := map[int][]string{}
	for _, h := range r.Busy {
		if !slices.Equal(h.Uses, []string{"mount namespace"}) { // of another test
			uses[h.PID] = h.Uses
		}
	}
	assert.Equal(t, []string{"cwd"}, uses[sleeper.Process.Pid])
	assert.Contains(t, uses[os.Getpid()], "map")
	assert.Len(t, uses[os.Getpid()], 2)
	assert.Len(t, uses, 2)
	assert.False(t, exists(m.at("a")), "the path is free")

	_, err = held.WriteAt([]byte("kept on"), 0)
	require.NoError(t, err)
	assert.Contains(t, m.ask(order{Do: "await", Timeout: time.Millisecond}).Err, "still served")
	require.NoError(t, unix.Munmap(page))
	require.NoError(t, held.Close())
	require.NoError(t, sleeper.Process.Kill())
	_ = sleeper.Wait()
	m.do(order{Do: "await", Timeout: soon})
}

// TestR15_AMountInAnotherNamespaceIsServed: the path is free here, and whoever has
// the mount there is named.
func TestR15_AMountInAnotherNamespaceIsServed(t *testing.T) {
	if !privileged() {
		t.Skip("only root can make a mount namespace")
	}
	m := newMount(t, map[string]string{"/a": "text"})
	other := exec.Command("unshare", "--mount", "cat")
	in, err := other.StdinPipe()
	require.NoError(t, err)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	_, err = io.WriteString(in, "there\n")
	require.NoError(t, err)
	_, err = io.ReadFull(out, make([]byte, len("there\n")))
	require.NoError(t, err)

	r := m.ask(order{Do: "unmount", Timeout: 300 * time.Millisecond})
	assert.Contains(t, r.Err, fmt.Sprintf("in use by cat (pid %d: mount namespace)", other.Process.Pid))
	assert.False(t, exists(m.at("a")), "the path is free")
	assert.Contains(t, m.ask(order{Do: "await", Timeout: time.Millisecond}).Err, "still served")

	require.NoError(t, in.Close())
	require.NoError(t, other.Wait())
	m.do(order{Do: "await", Timeout: soon})
}

func TestBusyForAMoment(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	held, err := os.Open(m.at("a"))
	require.NoError(t, err)
	time.AfterFunc(250*time.Millisecond, func() { _ = held.Close() })
	m.do(order{Do: "unmount", Timeout: soon})
	m.do(order{Do: "await", Timeout: soon})
}

// TestUnmountWhileChangesArrive: the end waits for no notification that waits
// for somebody who waits for the end.
func TestUnmountWhileChangesArrive(t *testing.T) {
	for range 2 {
		m := newMount(t, map[string]string{"/d/a": "text"})
		m.do(order{Do: "storm", Path: "/d/a"})
		for i := range 50 {
			m.write(fmt.Sprintf("d/%d", i), "local")
			m.read("d/a")
		}
		m.do(order{Do: "unmount", Timeout: soon})
		m.do(order{Do: "await", Timeout: soon})
	}
}

// TestUnmountLeavesAnotherMountAlone: ours was taken away behind our back and
// another stands there.
func TestUnmountLeavesAnotherMountAlone(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "ours"})
	held, err := os.Open(m.at("a"))
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, unmountLazily(m.path))
	other := startChild(t, childConfig{Path: m.path, State: m.config.State + "2", Files: map[string]string{"/a": "other"}})
	require.Empty(t, other.reply().Err)

	assert.Contains(t, m.ask(order{Do: "unmount", Timeout: 50 * time.Millisecond}).Err, "in use")
	assert.Equal(t, "other", other.read("a"))
}

func TestPanicIsEIOAndTheMountGoesOn(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text", "/b": "panic when read"})
	_, err := os.Lstat(m.at("panic"))
	assert.ErrorIs(t, err, syscall.EIO)
	_, err = os.ReadFile(m.at("b"))
	assert.ErrorIs(t, err, syscall.EIO)
	assert.GreaterOrEqual(t, m.do(order{Do: "panics"}).Panics, int64(2))
	assert.Equal(t, "text", m.read("a"))
	m.write("a", "and writable")
}

// TestReadOfUnfetchedContentCanBeKilled: readers that wait for the network
// can be ended, and however many there are, others do not wait with them, nor
// are their reads cut into pages. The kernel interrupts direct reads only; in
// the other ones it waits for the page by itself.
func TestReadOfUnfetchedContentCanBeKilled(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("/%02d", i)] = strings.Repeat(fmt.Sprintf("text %02d\n", i), 10_000)
	}
	m := newMount(t, files, func(c *childConfig) { c.Unfetched = true })
	var readers []*exec.Cmd
	for i := range 30 {
		script := `exec cat "$1"`
		if i%4 == 0 {
			script = `exec dd if="$1" of=/dev/null iflag=direct status=none`
		}
		reader := exec.Command("sh", "-c", script, "sh", m.at(fmt.Sprintf("%02d", i)))
		require.NoError(t, reader.Start())
		readers = append(readers, reader)
	}
	asked, pages := 0, 0
	m.eventually("all asked", func() bool {
		counts := m.do(order{Do: "counts"}).Counts
		asked, pages = asked+counts["read"], pages+counts["page"]
		return asked >= 30
	})
	assert.Zero(t, pages, "reads cut into pages")
	m.write("local", "reads and writes go on")
	assert.Equal(t, "reads and writes go on", m.read("local"))
	started := time.Now()
	for _, reader := range readers {
		require.NoError(t, reader.Process.Kill())
		err := reader.Wait()
		assert.Equal(t, syscall.SIGKILL, reader.ProcessState.Sys().(syscall.WaitStatus).Signal(), "%v", err)
	}
	assert.Less(t, time.Since(started), 8*time.Second, "they waited for the fetch to time out, after 10 s")

	m.do(order{Do: "answer"})
	assert.Equal(t, files["/07"], m.read("07"))
}

// TestNothingLeaks: neither use nor remote changes cost goroutines.
func TestNothingLeaks(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	for range 20 {
		m.read("a")
		m.put("/a", "next")
		m.put("/a", "text")
		m.write("b", "x")
	}
	assert.Less(t, m.do(order{Do: "goroutines"}).Goroutines, 15)
}

// R15: who still ends after somebody else unmounted leaves alone what was mounted
// there meanwhile, which the kernel may have given the same device.
func TestR15_TheNextMountAtThePathStays(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	require.NoError(t, unmount(m.path))
	m.do(order{Do: "await", Timeout: soon})
	config := m.config
	config.State += "2"
	next := startChild(t, config)
	require.Empty(t, next.reply().Err)
	m.do(order{Do: "unmount", Timeout: soon})
	assert.Equal(t, "text", next.read("a"))
}

// R15: the same where the end of the mount had to wait for a request.
func TestR15_TheNextMountStaysWhenARequestWasWaitedFor(t *testing.T) {
	if !privileged() {
		t.Skip("ending a connection takes root")
	}
	m := newMount(t, map[string]string{"/a": "text"}, func(c *childConfig) { c.Unfetched = true })
	cut := make(chan error, 1)
	go func() { cut <- os.Truncate(m.at("a"), 2) }() // builds on what is not fetched yet
	m.eventually("the request arrives", func() bool { return m.do(order{Do: "counts"}).Counts["setattr"] > 0 })
	require.NoError(t, unix.Unmount(m.path, unix.MNT_FORCE|unix.MNT_DETACH))
	require.Error(t, <-cut)
	config := m.config
	config.State, config.Unfetched = config.State+"2", false
	next := startChild(t, config)
	require.Empty(t, next.reply().Err)
	m.do(order{Do: "answer"})
	m.do(order{Do: "await", Timeout: soon})
	assert.Equal(t, "text", next.read("a"))
}

// TestR15_AMountThatMovedIsUnmounted: whoever renames a directory above a mount
// takes it along.
func TestR15_AMountThatMovedIsUnmounted(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"}, func(c *childConfig) {
		c.Path = filepath.Join(filepath.Dir(c.Path), "above", "mnt")
	})
	moved := filepath.Join(filepath.Dir(filepath.Dir(m.path)), "moved")
	require.NoError(t, os.Rename(filepath.Dir(m.path), moved))
	text, err := os.ReadFile(filepath.Join(moved, "mnt", "a"))
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	m.do(order{Do: "unmount", Timeout: soon})
	m.do(order{Do: "await", Timeout: soon})
	left, err := mountsAt(filepath.Join(moved, "mnt"))
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, os.Rename(moved, filepath.Dir(m.path)))
}
