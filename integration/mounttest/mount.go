package mounttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/fs"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/replica"
)

// Options say what is mounted and how. The zero value mounts an empty store
// for reading and writing, with passes only when a test asks for one.
type Options struct {
	// Files are the store's memories at first: contents by path ("/a/b.md").
	Files map[string]string
	// Interval is the time between passes; 0 is none but those asked for.
	Interval time.Duration
	// ReadOnly attaches without the right to write, Strict so that nobody
	// can (R10).
	ReadOnly, Strict bool
	// AllowOther lets other users in.
	AllowOther bool
	// NoHydrate leaves contents in the store until they are read.
	NoHydrate bool
	// MaxMemories is the store's cap; 0 is the API's.
	MaxMemories int
	// AllowMassDelete turns the mass-delete guard off (R8).
	AllowMassDelete bool
	// URL is the address of a store's API that the test serves itself, for
	// faults on the way; "" is an embedded store that both processes open.
	URL string
}

// Mount is a store, mounted by a process of its own.
type Mount struct {
	// Path is the mount point.
	Path string
	// StoreID is the store's id.
	StoreID string
	// Remote is the store as somebody else on another host has it.
	Remote store.Client

	t      testing.TB
	config config
	server *server // nil while none runs
}

// Start makes a store and mounts it. It skips the test on a host that cannot
// mount.
func Start(t testing.TB, o Options) *Mount {
	t.Helper()
	needFUSE(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755), "so that other users get as far as the mount")
	m := &Mount{t: t, Path: filepath.Join(dir, "mnt"), config: config{
		Options: o, Path: filepath.Join(dir, "mnt"), State: filepath.Join(dir, "state"), Stores: filepath.Join(dir, "stores"),
	}}
	api, end, err := openAPI(m.config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, end()) })
	info, err := api.CreateStore(t.Context(), filepath.Base(t.Name()), "")
	require.NoError(t, err)
	m.StoreID, m.Remote = info.ID, api.Store(info.ID)
	m.config.Store = info
	for path, text := range o.Files {
		_, err := m.Remote.Create(t.Context(), path, []byte(text))
		require.NoError(t, err, path)
	}
	t.Cleanup(m.end)
	m.Restart()
	return m
}

// needFUSE skips where nothing can be mounted.
func needFUSE(t testing.TB) {
	t.Helper()
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this host cannot mount: ", err)
	}
	require.NoError(t, device.Close())
}

// At is a path in the mount.
func (m *Mount) At(elem ...string) string { return filepath.Join(append([]string{m.Path}, elem...)...) }

// StateDir is where the mount's journal and losing texts are.
func (m *Mount) StateDir() string { return m.config.State }

// PID is the process that serves the mount.
func (m *Mount) PID() int { return m.server.command.Process.Pid }

// Restart mounts the same store with the same state at the same path again,
// after Stop or Kill.
func (m *Mount) Restart() {
	m.t.Helper()
	require.Nil(m.t, m.server, "still running")
	m.server = startServer(m.t, m.config)
}

// Sync runs a pass that sends everything and takes everything in, waits for
// it, and returns its report.
func (m *Mount) Sync() reconcile.Report {
	m.t.Helper()
	reports := m.server.do(m.t, order{Do: doSync}).Reports
	require.Len(m.t, reports, 1)
	return reports[0]
}

// SyncError runs a pass and returns what it failed with, "" if it did not.
func (m *Mount) SyncError() string {
	m.t.Helper()
	return m.server.ask(m.t, order{Do: doSync}).Err
}

// Status counts the mount's files by what became of them.
func (m *Mount) Status() replica.Status {
	m.t.Helper()
	status := m.server.do(m.t, order{Do: doStatus}).Status
	require.Len(m.t, status, 1)
	return status[0]
}

// Stop detaches cleanly: a final pass, then the mount and its process go.
func (m *Mount) Stop() memfs.Result {
	m.t.Helper()
	result := m.server.do(m.t, order{Do: doDetach}).Result
	m.server.wait(m.t)
	m.server = nil
	return result
}

// Kill ends the mount's process as the kernel does when memory runs out. The
// dead mount stays, as it would.
func (m *Mount) Kill() {
	m.t.Helper()
	m.server.kill(m.t)
	m.server = nil
}

// end leaves nothing behind.
func (m *Mount) end() {
	if m.server != nil {
		m.server.leave(m.t)
		m.server = nil
	}
	assert.NoError(m.t, fs.Detach(m.Path))
	left, err := fs.Mounts()
	assert.NoError(m.t, err)
	for _, mount := range left {
		assert.NotEqual(m.t, m.Path, mount.Path, "a mount was left behind")
	}
}
