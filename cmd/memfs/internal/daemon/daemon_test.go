package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/cmd/memfs/internal/daemon"
	"memfs/cmd/memfs/internal/exitcode"
)

// TestMain is the background process too: Start runs the test binary again.
func TestMain(m *testing.M) {
	child, err := daemon.Inherit()
	if child == nil {
		os.Exit(m.Run())
	}
	if err != nil {
		panic(err)
	}
	os.Exit(background(child, os.Args[1], os.Args[2]))
}

func background(child *daemon.Child, what, file string) int {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	switch what {
	case "serve":
		log, err := os.Create(file)
		if err != nil {
			return 98
		}
		if err := child.Ready(log); err != nil {
			return 97
		}
		dir, _ := os.Getwd()
		session, _ := unix.Getsid(0)
		_, inherited := os.LookupEnv("_MEMFS_READY_FD")
		fmt.Fprintf(os.Stderr, "leader=%t dir=%s inherited=%t\n", session == os.Getpid(), dir, inherited)
		_ = os.Rename(file, file+".said")
		<-end
		return 0
	case "hang":
		_ = os.WriteFile(file, nil, 0o600)
		<-end
		return 9
	}
	return 4
}

func TestStartReturnsWhenReady(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	ctx, cancel := context.WithCancel(t.Context())
	pid, err := daemon.Start(ctx, []string{"serve", log})
	require.NoError(t, err)
	cancel() // the caller's end is not the background process's
	await(t, log+".said")
	said, err := os.ReadFile(log + ".said")
	require.NoError(t, err)
	assert.Equal(t, "leader=true dir=/ inherited=false\n", string(said))

	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGTERM))
	state, err := process.Wait()
	require.NoError(t, err)
	assert.Equal(t, 0, state.ExitCode())
}

func TestStartPassesOnTheExitCode(t *testing.T) {
	_, err := daemon.Start(t.Context(), []string{"fail", ""})
	require.ErrorIs(t, err, daemon.ErrSaid)
	assert.Equal(t, 4, exitcode.Of(err))
}

func TestStartInterrupted(t *testing.T) {
	began := filepath.Join(t.TempDir(), "began")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		await(t, began)
		cancel()
	}()
	_, err := daemon.Start(ctx, []string{"hang", began})
	require.ErrorIs(t, err, daemon.ErrSaid)
	assert.Equal(t, 9, exitcode.Of(err), "it was told to stop and waited for")
}

func TestInheritOutsideADaemon(t *testing.T) {
	child, err := daemon.Inherit()
	require.NoError(t, err)
	assert.Nil(t, child)
	require.NoError(t, child.Ready(nil))
	t.Setenv("_MEMFS_READY_FD", "x"+strconv.Itoa(3))
	_, err = daemon.Inherit()
	require.Error(t, err)
}

// await waits for a file that another process makes.
func await(t *testing.T, path string) {
	t.Helper()
	assert.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, 5*time.Millisecond)
}
