package control_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestR18_OtherUsersAreHungUpOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := directory(t)
	server := listen(t, dir, &session{})
	for _, path := range []string{filepath.Dir(dir), dir, server.Path()} {
		require.NoError(t, os.Chmod(path, 0o777), "nothing but the peer check is left in the way")
	}
	assert.Equal(t, "HTTP", ask(t, 0, server.Path()))
	assert.Empty(t, ask(t, 65534, server.Path()))
}

// ask sends a request as user uid and returns how the answer begins. The user
// is changed for one thread, which then ends.
func ask(t *testing.T, uid int, path string) string {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		runtime.LockOSThread()
		defer close(answer)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			answer <- err.Error()
			return
		}
		_, _ = unix.SendmsgN(fd, []byte("GET /v1/status HTTP/1.0\r\n\r\n"), nil, nil, unix.MSG_NOSIGNAL)
		buf := make([]byte, 4)
		if n, err := unix.Read(fd, buf); err == nil {
			answer <- string(buf[:n])
		}
	}()
	return <-answer
}
