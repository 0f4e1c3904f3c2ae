//go:build linux

package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
)

// mounted is a host with an honest server and a mount, for programs to attack.
func mounted(t *testing.T, args ...string) (*host, *process) {
	t.Helper()
	h := newHost(t)
	p, ok := h.mount(args...)
	require.True(t, ok, h.log())
	h.write(minePath, mineText)
	return h, p
}

// descriptors counts the process's open files.
func (p *process) descriptors() int {
	p.h.t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	require.NoError(p.h.t, err)
	return len(fds)
}

// R20: programs that rename, make and remove the same names against each other
// leave a tree that the store agrees with.
func TestR20_Races(t *testing.T) {
	h, p := mounted(t, "--allow-mass-delete")
	names := []string{"a", "b", "c", "d/a", "d/b", "e/a"}
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			pick := rand.New(rand.NewPCG(1, uint64(worker)))
			any := func() string { return h.at(names[pick.IntN(len(names))]) }
			for range 400 { // whether one succeeds is up to the others
				switch pick.IntN(6) {
				case 0, 1:
					_ = os.WriteFile(any(), fmt.Appendf(nil, "%d\n", worker), 0o600)
				case 2:
					_ = os.Rename(any(), any())
				case 3:
					_ = os.Remove(any())
				case 4:
					_ = os.MkdirAll(filepath.Dir(any()), 0o700)
				case 5:
					_ = os.RemoveAll(h.at("d"))
				}
			}
		})
	}
	wait.Wait()
	require.Eventually(t, func() bool { return h.run("sync", h.mnt).code == 0 }, time.Minute, time.Second, "%s", tail(h.log()))
	here := map[string]string{}
	for _, path := range h.walk() {
		if path != store.MarkerName {
			text, err := os.ReadFile(h.at(path))
			require.NoError(t, err)
			here["/"+path] = string(text)
		}
	}
	assert.Equal(t, here, h.remote())
	h.safe(p)
}

// R15: thousands of open files, of removed and replaced names too, take no
// descriptor of memfs.
func TestR15_ThousandsOfDescriptors(t *testing.T) {
	h, p := mounted(t)
	before := p.descriptors()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	many := int(min(limit.Cur-200, 5000))
	files := make([]*os.File, 0, many)
	for i := range many {
		f, err := os.OpenFile(h.at(fmt.Sprintf("f%d~", i%100)), os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		files = append(files, f)
		if i%100 == 99 {
			require.NoError(t, os.Remove(f.Name()))
		}
	}
	p.look()
	assert.Less(t, p.descriptors(), before+50)
	for _, f := range files {
		_, err := f.WriteString("x")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	h.safe(p)
}

// R11: the caps hold, of memories and of local-only files, and say so at once.
func TestR11_Caps(t *testing.T) {
	h, p := mounted(t, "--max-memories=100", "--sync-interval=1h")
	made := 0
	var err error
	for ; err == nil && made < 1000; made++ {
		err = os.WriteFile(h.at(fmt.Sprintf("n%d.md", made)), []byte("x"), 0o600)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	assert.Less(t, made, 100+64+1)
	block := bytes.Repeat([]byte("x"), 1<<20)
	f, err := os.Create(h.at("big~"))
	require.NoError(t, err)
	written := 0
	for ; err == nil && written < 200; written++ {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	assert.LessOrEqual(t, written, 65)
	_ = f.Close() // its last write failed
	require.NoError(t, os.Remove(h.at("big~")))
	p.look()
	_, err = os.ReadFile(h.at(honestPath))
	assert.NoError(t, err)
	assert.Less(t, len(h.log()), 100<<10, "the log grows")
	h.server.lie(nil)
	p.stop()
	h.nothingElse()
}

// R11: what no store can hold is refused where it is tried, and a program that
// tries for ever does not fill the log.
func TestR11_WhatIsRefused(t *testing.T) {
	h, p := mounted(t)
	honest := h.at(honestPath)
	file := func() *os.File {
		f, err := os.OpenFile(h.at(minePath), os.O_RDWR, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	refusals := map[string]struct {
		try  func() error
		want []error
	}{
		"symlink":   {func() error { return os.Symlink("/etc/passwd", h.at("link")) }, []error{unix.EPERM}},
		"hard link": {func() error { return os.Link(honest, h.at("link")) }, []error{unix.EPERM}},
		"device":    {func() error { return unix.Mknod(h.at("dev"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) }, []error{unix.EPERM}},
		"fifo":      {func() error { return unix.Mkfifo(h.at("fifo"), 0o600) }, []error{unix.EPERM}},
		"foreign xattr": {func() error { return unix.Setxattr(honest, "user.x", make([]byte, 60_000), 0) },
			[]error{unix.ENOTSUP}},
		"capabilities":     {func() error { return unix.Setxattr(honest, "security.capability", make([]byte, 20), 0) }, []error{unix.ENOTSUP, unix.EINVAL}},
		"an id of its own": {func() error { return unix.Setxattr(honest, "user.memfs.id", []byte("mem_x"), 0) }, []error{unix.EPERM, unix.ENOTSUP, unix.EACCES, unix.EROFS}},
		"no status":        {func() error { return unix.Removexattr(h.mnt, "user.memfs.status") }, []error{unix.EPERM, unix.ENOTSUP, unix.EACCES, unix.EROFS}},
		"huge file":        {func() error { return os.Truncate(honest, 1<<60) }, []error{unix.EFBIG}},
		"negative hole":    {func() error { _, err := file().WriteAt([]byte("x"), 1<<62); return err }, []error{unix.EFBIG, unix.EINVAL}},
		"fallocate":        {func() error { return unix.Fallocate(int(file().Fd()), 0, 0, 1<<40) }, []error{unix.EFBIG, unix.ENOTSUP, unix.ENOSYS}},
		"punch": {func() error {
			return unix.Fallocate(int(file().Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4)
		}, []error{unix.ENOTSUP, unix.ENOSYS}},
		"immutable":         {func() error { return unix.IoctlSetPointerInt(int(file().Fd()), unix.FS_IOC_SETFLAGS, 0x10) }, []error{unix.ENOTTY, unix.ENOSYS, unix.ENOTSUP}},
		"control character": {func() error { return os.WriteFile(h.at("a\x1b[2J\nERROR"), nil, 0o600) }, []error{unix.EINVAL}},
		"not UTF-8":         {func() error { return os.Mkdir(h.at("\xff\xfe"), 0o700) }, []error{unix.EINVAL}},
		"bidi":              {func() error { return os.Rename(h.at(minePath), h.at("a\u202eb")) }, []error{unix.EINVAL}},
		"too deep":          {func() error { return os.MkdirAll(h.at(strings.Repeat("d/", 25)), 0o700) }, []error{unix.ENAMETOOLONG}},
		"too long":          {func() error { return os.WriteFile(h.at(strings.Repeat("n", 300)), nil, 0o600) }, []error{unix.ENAMETOOLONG}},
		"swap file":         {func() error { return swapon(h.at(minePath)) }, []error{unix.EINVAL, unix.EPERM}},
	}
	for name, c := range refusals {
		err := c.try()
		ok := false
		for _, want := range c.want {
			ok = ok || errors.Is(err, want)
		}
		assert.True(t, ok, "%s: %v", name, err)
	}
	for range 2000 {
		_ = refusals["control character"].try()
		_ = refusals["symlink"].try()
		_ = refusals["huge file"].try()
	}
	for i := range 200 { // texts that the store will refuse
		_ = os.WriteFile(h.at("refused.md"), []byte{0xff, byte(i)}, 0o600)
	}
	assert.Less(t, len(h.log()), 100<<10, "the log grows")
	require.NoError(t, os.Remove(h.at("refused.md")))
	h.safe(p)
}

func swapon(path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(ptr(name)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// R19: a set-user-ID program in a memory store gives nobody anything.
func TestR19_NoSetUserID(t *testing.T) {
	h, p := mounted(t)
	text, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " "+h.mnt+" ") {
			assert.Contains(t, line, "nosuid")
			assert.Contains(t, line, "nodev")
			assert.NotContains(t, line, "allow_other")
			assert.Contains(t, line, "default_permissions")
			assert.True(t, strings.HasPrefix(line, "memfs:"+h.store+" "), line)
		}
	}
	_ = os.Chmod(h.at(minePath), 0o4755|os.ModeSetuid)
	h.safe(p)
}

// as runs a shell command as another user.
func as(t *testing.T, uid uint32, command string) (string, error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// R18: other users get in only where that was asked for, and then only as far
// as the modes let them.
func TestR18_OtherUsers(t *testing.T) {
	const nobody = 65534
	for name, args := range map[string][]string{"closed": nil, "open": {"--allow-other"}} {
		t.Run(name, func(t *testing.T) {
			h, p := mounted(t, args...)
			for _, command := range []string{"cat %s/honest.md", "echo x > %s/honest.md", "rm -f %s/honest.md && ! test -e %[1]s/honest.md", "touch %s/new", "mv %s/honest.md %[1]s/x",
				"ls %s", "cat %s/.anthropic-memory-store", "chmod 777 %s", "getfattr -n user.memfs.status %s"} {
				out, err := as(t, nobody, fmt.Sprintf(command, h.mnt))
				assert.Error(t, err, "%s: %s", command, out)
			}
			for _, command := range []string{"ls %s/state", "cat %s/state/*/*", "ls %s/run", "cat %s/log"} {
				out, err := as(t, nobody, fmt.Sprintf(command, h.dir))
				assert.Error(t, err, "%s: %s", command, out)
			}
			for _, file := range []string{"mem", "environ", "maps", "root/etc/hostname", "fd/0", "cwd/log", "stack"} {
				out, err := as(t, nobody, fmt.Sprintf("cat /proc/%d/%s", p.cmd.Process.Pid, file))
				assert.Error(t, err, "%s: %.200s", file, out)
			}
			_, err := as(t, nobody, fmt.Sprintf("kill -9 %d", p.cmd.Process.Pid))
			assert.Error(t, err)
			_, err = as(t, nobody, fmt.Sprintf("RUNTIME_DIRECTORY=%s %s unmount %s", h.path("run"), program, h.mnt))
			assert.Error(t, err)
			h.safe(p)
		})
	}
}

// R13: a marker that is gone, altered, replaced or moved stops the passes, and
// nothing else will do in its place.
func TestR13_MarkerAttacks(t *testing.T) {
	marker := store.MarkerName
	for name, attack := range map[string]func(h *host) error{
		"removed":     func(h *host) error { return os.Remove(h.at(marker)) },
		"another's":   func(h *host) error { return os.WriteFile(h.at(marker), store.Marker("memstore_other"), 0o600) },
		"longer":      func(h *host) error { return os.WriteFile(h.at(marker), append(store.Marker(h.store), '\n'), 0o600) },
		"huge":        func(h *host) error { return os.WriteFile(h.at(marker), bytes.Repeat([]byte("x"), 100_000), 0o600) },
		"moved":       func(h *host) error { return os.Rename(h.at(marker), h.at("elsewhere")) },
		"moved over":  func(h *host) error { return os.Rename(h.at(minePath), h.at(marker)) },
		"a directory": func(h *host) error { return errors.Join(os.Remove(h.at(marker)), os.Mkdir(h.at(marker), 0o700)) },
		"that is filled": func(h *host) error {
			return errors.Join(os.Remove(h.at(marker)), os.MkdirAll(h.at(marker, "x"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := mounted(t)
			require.Zero(t, h.run("sync", h.mnt).code)
			require.NoError(t, attack(h))
			_ = os.Remove(h.at(honestPath))
			h.run("sync", h.mnt)
			assert.Equal(t, honestText, h.remote()[honestPath], "a delete was sent")
			assert.Contains(t, h.log(), `"code":"marker"`)
			assert.NotContains(t, h.remote(), "/"+marker)
			_ = os.RemoveAll(h.at(marker))
			h.write(honestPath, honestText)
			if !assert.Zero(t, h.run("repair", h.mnt).code) {
				return
			}
			if _, err := os.Stat(h.at(minePath)); errors.Is(err, fs.ErrNotExist) {
				h.write(minePath, mineText)
			}
			h.safe(p)
		})
	}
}

// R7: who keeps writing to a file that the store has replaced loses nothing that
// is within bounds, and fills no disk.
func TestR7_StraysAreBounded(t *testing.T) {
	h, p := mounted(t)
	f, err := os.OpenFile(h.at(honestPath), os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // it is gone
	m, err := h.server.api.Store(h.store).List(t.Context(), store.ListQuery{})
	require.NoError(t, err)
	for _, memory := range m.Memories {
		if memory.Path == honestPath {
			text := []byte("newer\n")
			_, err = h.server.api.Store(h.store).Update(t.Context(), memory.ID, store.Update{Content: &text, Expect: memory.SHA})
			require.NoError(t, err)
		}
	}
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(h.at(honestPath))
		return err == nil && string(text) == "newer\n"
	}, time.Minute, 50*time.Millisecond)
	block := bytes.Repeat([]byte("stray "), 15_000)
	for i := range 400 {
		copy(block, fmt.Sprint(i))
		if _, err := f.WriteAt(block, 0); err != nil {
			break
		}
		if i%100 == 0 {
			h.run("sync", h.mnt)
		}
	}
	h.run("sync", h.mnt)
	p.look()
	assert.Contains(t, h.log(), `"code":"stray"`)
	assert.Less(t, size(t, h.path("state")), int64(200<<20))
	assert.Less(t, len(h.log()), 200<<10)
	text, err := os.ReadFile(h.at(honestPath))
	require.NoError(t, err)
	assert.Equal(t, "newer\n", string(text))
	require.NoError(t, f.Close())
	p.stop()
	h.nothingElse()
}

// size is what a directory's files take.
func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		total += info.Size()
		return err
	}))
	return total
}

// R15: a mount over memfs's own is not memfs's to unmount, and one that was
// moved away is.
func TestR15_ForeignMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts")
	}
	h, p := mounted(t)
	require.Zero(t, h.run("sync", h.mnt).code)
	require.NoError(t, unix.Mount("theirs", h.mnt, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { _ = unix.Unmount(h.mnt, unix.MNT_DETACH) })
	require.NoError(t, os.WriteFile(h.at("theirs"), []byte("theirs"), 0o600))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.over:
	case <-time.After(time.Minute):
		p.kill()
		require.Fail(t, "memfs does not end", tail(h.log()))
	}
	text, err := os.ReadFile(h.at("theirs"))
	require.NoError(t, err, "their mount was taken away")
	assert.Equal(t, "theirs", string(text))
	assert.NotZero(t, p.cmd.ProcessState.ExitCode())
	assert.Contains(t, h.log(), "another filesystem is mounted over it")
	require.NoError(t, unix.Unmount(h.mnt, 0))
	assert.Equal(t, mineText, h.remote()[minePath])

	// The next start cleans up after that.
	p, ok := h.mount()
	require.True(t, ok, tail(h.log()))
	h.safe(p)
}
