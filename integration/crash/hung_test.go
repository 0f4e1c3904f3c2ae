//go:build linux

package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// hung is a memfs that was killed while it told the kernel of a change, and
// cannot end: its thread waits in the kernel for the lock of a directory, whose
// holder waits for memfs's answer. settled is called when the hang is over.
func hung(t *testing.T) (h *host, p *process, settled func()) {
	connections, ok := mounttest.Connections(t)
	if !ok {
		t.Skip("only root can set free what hangs")
	}
	h = newHost(t)
	for i := range 150 {
		_, err := h.client().Create(t.Context(), fmt.Sprintf("/m%03d.md", i), []byte("0\n"))
		require.NoError(t, err)
	}
	p = h.start()
	root, err := os.OpenRoot(h.mnt) // after the kill it still is the mount
	require.NoError(t, err)
	// The kernel asks once whether files can be polled. A memfs that is stopped at
	// that moment would stop this process's runtime, too.
	first, err := root.Create("first~")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	over := make(chan struct{})
	var busy sync.WaitGroup
	for i := range 6 {
		busy.Go(func() { createAndRemove(root, fmt.Sprintf("creator%d~", i), over) })
	}
	busy.Go(func() { h.changeAll(over) })
	stopped := p.stopInKernel()
	require.NoError(t, p.cmd.Process.Kill())
	bound := time.AfterFunc(time.Minute, func() { abort(t, connections, h.mnt) })
	t.Cleanup(func() {
		bound.Stop()
		abort(t, connections, h.mnt) // what a failed test left
	})
	close(over)
	require.True(t, stopped, "it never waited for a directory's lock when it was stopped")
	select {
	case <-p.over:
		t.Fatal("it ended: nothing is tested")
	case <-time.After(time.Second):
	}
	return h, p, func() {
		<-p.over
		busy.Wait()
		require.NoError(t, root.Close())
	}
}

// The next memfs ends it and goes on.
func TestR16_AKilledOwnerThatCannotEnd(t *testing.T) {
	h, _, settled := hung(t)
	next := h.start()
	settled()
	assert.Equal(t, 1, h.mounts())
	assert.Len(t, h.logged("owner_hung"), 1)
	h.sync()
	for path, text := range h.texts() {
		require.Equal(t, text, read(t, h.path(path)))
	}
	require.Zero(t, next.stop(), h.log())
}

// Who asks is told, and unmount ends it, here through the kernel's control
// files, as an ordinary user has to.
func TestR16_UnmountEndsAKilledOwnerThatCannotEnd(t *testing.T) {
	h, p, settled := hung(t)
	_, stdout, _ := h.run("doctor", "--root", h.dir)
	assert.Contains(t, stdout, fmt.Sprintf("process %d was killed and hangs", p.cmd.Process.Pid))
	_, stdout, _ = h.run("recover", "list")
	assert.Regexp(t, `hung .*`+h.mnt, stdout)
	code, _, stderr := h.run("recover", "push", h.mnt)
	assert.Equal(t, 7, code)
	assert.Contains(t, stderr, "memfs unmount "+h.mnt+" first")
	unmount := h.command(t.Context(), "unmount", h.mnt)
	within := exec.Command("unshare", append([]string{"--mount", "sh", "-ec",
		`mountpoint -q /sys/fs/fuse/connections || mount -t fusectl none /sys/fs/fuse/connections; exec "$@"`, "sh"}, unmount.Args...)...)
	within.Env, within.Dir = unmount.Env, unmount.Dir
	out, err := within.CombinedOutput()
	require.NoError(t, err, string(out))
	settled()
	require.Zero(t, h.start().stop(), h.log())
	assert.Zero(t, h.mounts())
}

// changeAll changes every memory from the store's side, again and again, and
// has each change told to the kernel.
func (h *host) changeAll(over <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-over; cancel() }()
	for n := 1; ; n++ {
		for path, m := range h.stored() {
			text := fmt.Appendln(nil, n)
			if !strings.HasPrefix(path, "/m") {
				continue
			}
			if _, err := h.client().Update(ctx, m.ID, store.Update{Content: &text, Expect: m.SHA}); ctx.Err() != nil {
				return
			} else if err != nil {
				h.t.Error(err)
				return
			}
		}
		if _ = h.command(ctx, "sync", h.mnt).Run(); ctx.Err() != nil {
			return
		}
	}
}

// stopInKernel stops a process at a moment when one of its threads waits in the
// kernel and cannot be stopped.
func (p *process) stopInKernel() bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		require.NoError(p.h.t, p.cmd.Process.Signal(unix.SIGSTOP))
		waits := p.notifies()
		for range 5 { // who has the lock and waits for the CPU only, gives it back
			time.Sleep(20 * time.Millisecond)
			waits = waits && p.notifies()
		}
		if waits {
			return true
		}
		require.NoError(p.h.t, p.cmd.Process.Signal(unix.SIGCONT))
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	}
	return false
}

// notifies reports whether a thread is telling the kernel of a name's change.
func (p *process) notifies() bool {
	stacks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", p.cmd.Process.Pid))
	require.NoError(p.h.t, err)
	for _, name := range stacks {
		stack, err := os.ReadFile(name)
		require.NoError(p.h.t, err)
		if strings.Contains(string(stack), "fuse_reverse_inval_entry") {
			return true
		}
	}
	return false
}

// createAndRemove takes the lock of a directory as often as it can.
func createAndRemove(dir *os.Root, name string, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		default:
		}
		f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			if !errors.Is(err, os.ErrExist) {
				return
			}
			continue
		}
		_ = f.Close()
		_ = dir.Remove(name)
	}
}

// abort ends the connections of the mounts at a path.
func abort(t *testing.T, connections, path string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[4] != path {
			continue
		}
		_, minor, _ := strings.Cut(fields[2], ":")
		_, err := strconv.Atoi(minor)
		require.NoError(t, err)
		_ = os.WriteFile(filepath.Join(connections, minor, "abort"), []byte("1"), 0) // gone, if it has ended
	}
	_ = unix.Unmount(path, unix.MNT_DETACH)
}
