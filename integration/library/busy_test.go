//go:build linux

package library

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/fs"
	"memfs/store"
)

// R15: what is written to a mount that stays busy to the bound goes out too.
func TestR15_TheLastPushOfABusyMount(t *testing.T) {
	l, path := open(t), filepath.Join(t.TempDir(), "notes")
	notes := l.store(t, "notes", path)
	session, err := memfs.Attach(t.Context(), l.options(t), []memfs.Store{notes})
	require.NoError(t, err)
	holder := exec.Command("sh", "-c", `exec 3>>"$1/note.md"; echo one >&3; echo; read go; echo two >&3; read go; :`, "holder", path)
	in, err := holder.StdinPipe()
	require.NoError(t, err)
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	defer func() { assert.NoError(t, holder.Wait()) }()
	defer func() { assert.NoError(t, in.Close()) }()
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)

	ended := make(chan memfs.Result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		result, err := session.Detach(ctx)
		assert.NoError(t, err)
		ended <- result
	}()
	require.Eventually(t, func() bool { return !mounted(t, path) }, time.Minute, 10*time.Millisecond, "it is detached lazily")
	_, err = io.WriteString(in, "go\n")
	require.NoError(t, err)
	assert.Empty(t, (<-ended).Unsent)

	page, err := l.api.Reader(notes.Info.ID).List(t.Context(), store.ListQuery{Full: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 1)
	assert.Equal(t, "one\ntwo\n", string(page.Memories[0].Content))
}

func mounted(t *testing.T, path string) bool {
	all, err := fs.Mounts()
	require.NoError(t, err)
	for _, m := range all {
		if m.Path == path {
			return true
		}
	}
	return false
}
