//go:build linux

package library

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/fs/mountpoint"
	"memfs/guard"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// runTools is what a worker of one's own does with attached stores: its tools
// get the roots, the guard says what they may write, and a tool is a process of
// its own, as a process must not use a mount that it serves.
func runTools(ctx context.Context, session *memfs.Session) error {
	roots, readOnly := session.Roots()
	file := filepath.Join(roots[0], "note.md")
	var confined []guard.Root
	for _, root := range roots {
		confined = append(confined, guard.Root{Path: root})
	}
	for _, root := range readOnly {
		confined = append(confined, guard.Root{Path: root, ReadOnly: true})
	}
	if err := guard.New(confined...).Check(file, guard.Write); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "sh", "-c", `echo remember >> "$1"`, "tool", file).CombinedOutput(); err != nil {
		return fmt.Errorf("tool: %w: %s", err, out)
	}
	_, err := session.Sync(ctx, memfs.SyncOptions{})
	return err
}

// library is an embedded store with one memory store, and what reaches it.
type library struct {
	url string
	api *claude.API
}

func open(t *testing.T) library {
	t.Helper()
	server, err := local.Open(t.TempDir(), local.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	api, err := claude.New(claude.Config{BaseURL: web.URL, Credential: "any"})
	require.NoError(t, err)
	t.Cleanup(api.Close)
	return library{web.URL, api}
}

// options are those of a session, with a state directory of its own.
func (l library) options(t *testing.T) memfs.Options {
	t.Helper()
	state := t.TempDir()
	require.NoError(t, os.Chmod(state, 0o700))
	return memfs.Options{StateDir: state, Endpoint: l.url}
}

// store makes a store and says to mount it at path.
func (l library) store(t *testing.T, name, path string) memfs.Store {
	t.Helper()
	info, err := l.api.CreateStore(t.Context(), name, "")
	require.NoError(t, err)
	return memfs.Store{Client: l.api.Store(info.ID), Info: info, Path: path}
}

func TestCustomTools(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, path := open(t), filepath.Join(t.TempDir(), "notes")
	notes := l.store(t, "notes", path)
	session, err := memfs.Attach(ctx, l.options(t), []memfs.Store{notes})
	require.NoError(t, err)
	require.NoError(t, runTools(ctx, session))
	result, err := session.Detach(ctx)
	require.NoError(t, err)
	require.Empty(t, result.Unsent)

	page, err := l.api.Reader(notes.Info.ID).List(ctx, store.ListQuery{Full: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 1)
	require.Equal(t, "remember\n", string(page.Memories[0].Content))
	require.NoDirExists(t, path)
}

// R1: an attach that fails says for which store, and takes the others back.
func TestR1_AttachSaysWhichStore(t *testing.T) {
	l, dir := open(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600))
	good, bad := l.store(t, "good", filepath.Join(dir, "good")), l.store(t, "bad", filepath.Join(dir, "taken"))
	_, err := memfs.Attach(t.Context(), l.options(t), []memfs.Store{good, bad})
	var which *memfs.StoreError
	require.ErrorAs(t, err, &which)
	require.Equal(t, bad.Info.ID, which.Store)
	require.Equal(t, bad.Path, which.Path)
	var taken *mountpoint.TakenError
	require.ErrorAs(t, which.Err, &taken)
	require.NoDirExists(t, good.Path)
}
