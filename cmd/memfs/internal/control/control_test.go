package control_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/reconcile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type session struct {
	synced    control.SyncRequest
	syncErr   error
	detachErr error
}

func (s *session) Report() control.Report {
	return control.Report{PID: os.Getpid(), Version: "v1", Started: time.Unix(1, 0).UTC(), Session: "sesn_1",
		Mounts: []control.Mount{{Path: "/mnt/a", Status: []byte(`{"dirty":1}`)}, {Path: "/mnt/b", Status: []byte(`{}`)}}}
}
func (s *session) Sync(_ context.Context, r control.SyncRequest) ([]control.Synced, error) {
	s.synced = r
	return left(), s.syncErr
}
func (s *session) Detach(context.Context) error { return s.detachErr }
func (s *session) Metrics() ([]byte, error)     { return []byte{0, 255}, nil }

// left is what the session's pass leaves.
func left() []control.Synced {
	return []control.Synced{{Mount: control.Mount{Path: "/mnt/a", Status: []byte(`{"refused":1}`)},
		Report: reconcile.Report{Refused: 1, Unsent: []string{"/a.md"}}}}
}

// directory is short enough for a socket's path, which t.TempDir is not
// everywhere.
func directory(t *testing.T) string {
	dir, err := os.MkdirTemp("", "c")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "memfs")
}

func listen(t *testing.T, dir string, s control.Session) *control.Server {
	server, err := control.Listen(dir, s)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close(context.Background())) })
	return server
}

func only(t *testing.T, dir string) *control.Process {
	live, err := control.Processes(t.Context(), dir)
	require.NoError(t, err)
	require.Len(t, live, 1)
	return live[0]
}

func TestCommandsReachTheProcess(t *testing.T) {
	dir, s := directory(t), &session{}
	listen(t, dir, s)
	p := only(t, dir)
	assert.Equal(t, s.Report(), p.Report)

	request := control.SyncRequest{Paths: []string{"/mnt/a"}, AllowDeletes: true}
	got, err := p.Sync(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, left(), got)
	assert.Equal(t, request, s.synced)
	metrics, err := p.Metrics(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 255}, metrics)
	require.NoError(t, p.Detach(t.Context()))
}

func TestErrorsKeepTheirExitCode(t *testing.T) {
	dir := directory(t)
	listen(t, dir, &session{
		syncErr:   errors.New("the pass failed"),
		detachErr: exitcode.Errorf(exitcode.EditsKept, "2 edits of notes were not sent"),
	})
	p := only(t, dir)
	got, err := p.Sync(t.Context(), control.SyncRequest{})
	assert.Equal(t, left(), got, "what is known of the mounts comes with the error")
	require.EqualError(t, err, "the pass failed")
	assert.Equal(t, exitcode.Failed, exitcode.Of(err))
	err = p.Detach(t.Context())
	require.EqualError(t, err, "2 edits of notes were not sent")
	assert.Equal(t, exitcode.EditsKept, exitcode.Of(err))
}

func TestServes(t *testing.T) {
	dir := directory(t)
	listen(t, dir, &session{})
	p := only(t, dir)
	for path, want := range map[string]string{"/mnt/a": "/mnt/a", "/mnt/b/x/y": "/mnt/b", "/mnt/ab": "", "/mnt": ""} {
		mount, ok := p.Serves(path)
		assert.Equal(t, want, mount, path)
		assert.Equal(t, want != "", ok, path)
	}
}

func TestR18_SocketIsForItsOwnerOnly(t *testing.T) {
	dir := directory(t)
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.NoError(t, os.Chmod(dir, 0o777))
	server := listen(t, dir, &session{})
	for path, want := range map[string]os.FileMode{dir: 0o700, server.Path(): 0o600} {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), path)
	}
}

func TestListenRefusesADirectoryThatIsNone(t *testing.T) {
	dir := directory(t)
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	_, err := control.Listen(dir, &session{})
	require.ErrorContains(t, err, dir+" is not a directory")
}

func TestListenRefusesADirectoryOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := directory(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, 65534, 65534))
	_, err := control.Listen(dir, &session{})
	require.ErrorContains(t, err, dir+" belongs to user 65534")
}

func TestSocketGoesWithItsServer(t *testing.T) {
	dir := directory(t)
	server, err := control.Listen(dir, &session{})
	require.NoError(t, err)
	require.NoError(t, server.Close(t.Context()))
	assert.NoFileExists(t, server.Path())
	live, err := control.Processes(t.Context(), dir)
	require.NoError(t, err)
	assert.Empty(t, live)
}

func TestSocketOfADeadProcessIsRemoved(t *testing.T) {
	dir := directory(t)
	listen(t, dir, &session{})
	dead := filepath.Join(dir, "1.sock")
	l, err := net.Listen("unix", dead)
	require.NoError(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, l.Close())

	only(t, dir)
	_, err = os.Lstat(dead)
	require.ErrorIs(t, err, syscall.ENOENT)
}

func TestDirectory(t *testing.T) {
	env := func(pairs map[string]string) func(string) string { return func(k string) string { return pairs[k] } }
	assert.Equal(t, "/run/memfs-blue",
		control.Directory(env(map[string]string{"RUNTIME_DIRECTORY": "/run/memfs-blue:/run/other"}), 0))
	assert.Equal(t, "/run/memfs", control.Directory(env(map[string]string{"XDG_RUNTIME_DIR": "/run/user/0"}), 0))
	assert.Equal(t, "/x/memfs", control.Directory(env(map[string]string{"XDG_RUNTIME_DIR": "/x"}), 4711))
	assert.Equal(t, "/tmp/memfs-4711", control.Directory(env(nil), 4711))
}
