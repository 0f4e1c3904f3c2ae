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

func TestCustomTools(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := local.Open(t.TempDir(), local.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	api, err := claude.New(claude.Config{BaseURL: web.URL, Credential: "any"})
	require.NoError(t, err)
	defer api.Close()
	info, err := api.CreateStore(ctx, "notes", "")
	require.NoError(t, err)

	state, path := t.TempDir(), filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.Chmod(state, 0o700))
	session, err := memfs.Attach(ctx, memfs.Options{StateDir: state, Endpoint: web.URL},
		[]memfs.Store{{Client: api.Store(info.ID), Info: info, Path: path}})
	require.NoError(t, err)
	require.NoError(t, runTools(ctx, session))
	result, err := session.Detach(ctx)
	require.NoError(t, err)
	require.Empty(t, result.Unsent)

	page, err := api.Reader(info.ID).List(ctx, store.ListQuery{Full: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 1)
	require.Equal(t, "remember\n", string(page.Memories[0].Content))
	require.NoDirExists(t, path)
}
