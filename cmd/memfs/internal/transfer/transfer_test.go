package transfer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/transfer"
	"memfs/store"
)

func newStore(t *testing.T) store.Client {
	t.Helper()
	b, err := backend.Open(filepath.Join(t.TempDir(), "stores"), zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	info, err := b.CreateStore(t.Context(), "notes", "")
	require.NoError(t, err)
	return b.Store(info.ID)
}

// outcomes are those of a result, by path.
func outcomes(r transfer.Result) map[string]transfer.Outcome {
	got := map[string]transfer.Outcome{}
	for _, i := range r.Items {
		got[i.Path] = i.Outcome
	}
	return got
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// files are the texts in a directory by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		got[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	}))
	return got
}

func TestThereAndBackByteForByte(t *testing.T) {
	texts := map[string]string{"a.md": "one\r\n", "empty": "", "dir/ü/b": "no newline", "nul": "a\x00b", `back\slash`: "x"}
	for i := range 101 { // more than a page
		texts[fmt.Sprintf("many/%03d", i)] = strings.Repeat("x", i)
	}
	dir, c := t.TempDir(), newStore(t)
	put(t, dir, texts)

	r, err := transfer.Import(t.Context(), c, dir, transfer.Options{DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, len(texts), r.Count(transfer.Created))
	page, err := c.List(t.Context(), store.ListQuery{})
	require.NoError(t, err)
	assert.Empty(t, page.Memories, "a dry run does nothing")

	total, done := 0, 0
	r, err = transfer.Import(t.Context(), c, dir, transfer.Options{Total: func(n int) { total = n }, Done: func(transfer.Item) { done++ }})
	require.NoError(t, err)
	assert.Equal(t, len(texts), r.Count(transfer.Created))
	assert.Equal(t, []int{len(texts), len(texts)}, []int{total, done})
	r, err = transfer.Import(t.Context(), c, dir, transfer.Options{})
	require.NoError(t, err)
	assert.Equal(t, len(texts), r.Count(transfer.Same), "again: nothing is left to do")

	out := filepath.Join(t.TempDir(), "new", "out")
	r, err = transfer.Export(t.Context(), c, out, transfer.Options{DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, len(texts), r.Count(transfer.Created))
	assert.NoDirExists(t, out)
	r, err = transfer.Export(t.Context(), c, out, transfer.Options{})
	require.NoError(t, err)
	assert.Equal(t, len(texts), r.Count(transfer.Created))
	assert.Equal(t, texts, files(t, out))
	require.NoError(t, os.Remove(filepath.Join(out, "a.md"))) // as if it was cut off there
	r, err = transfer.Export(t.Context(), c, out, transfer.Options{})
	require.NoError(t, err)
	assert.Equal(t, []int{1, len(texts) - 1}, []int{r.Count(transfer.Created), r.Count(transfer.Same)})
}

func TestWhatCannotBeCopiedIsNamedAndTheRestIs(t *testing.T) {
	dir, c := t.TempDir(), newStore(t)
	put(t, dir, map[string]string{"good": "x", "binary": "\xff", "large": strings.Repeat("x", store.MaxContent+1), "con\ttrol": "x",
		".git/config": "x", "old~": "x", store.MarkerName: "x", "caf\u00e9": "x", "cafe\u0301": "x"})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	r, err := transfer.Import(t.Context(), c, dir, transfer.Options{})
	require.NoError(t, err)
	got := outcomes(r)
	delete(got, "/caf\u00e9") // one of each
	assert.Equal(t, map[string]transfer.Outcome{"/good": transfer.Created, "/binary": transfer.Failed, "/large": transfer.Failed,
		"/con\ttrol": transfer.Failed, "/link": transfer.Failed, "/.git/config": transfer.LocalOnly, "/old~": transfer.LocalOnly,
		"/" + store.MarkerName: transfer.LocalOnly}, got)
	assert.Equal(t, []int{2, 5}, []int{r.Count(transfer.Created), r.Count(transfer.Failed)})
	assert.Len(t, r.Problems(), 5)
}

func TestTextsThatDifferStayUnlessToldOtherwise(t *testing.T) {
	dir, c := t.TempDir(), newStore(t)
	put(t, dir, map[string]string{"a": "here"})
	_, err := c.Create(t.Context(), "/a", []byte("there"))
	require.NoError(t, err)
	r, err := transfer.Import(t.Context(), c, dir, transfer.Options{})
	require.NoError(t, err)
	assert.Equal(t, map[string]transfer.Outcome{"/a": transfer.Differs}, outcomes(r))
	r, err = transfer.Export(t.Context(), c, dir, transfer.Options{})
	require.NoError(t, err)
	assert.Equal(t, map[string]transfer.Outcome{"/a": transfer.Differs}, outcomes(r))
	assert.Equal(t, map[string]string{"a": "here"}, files(t, dir))

	r, err = transfer.Export(t.Context(), c, dir, transfer.Options{Overwrite: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]transfer.Outcome{"/a": transfer.Updated}, outcomes(r))
	assert.Equal(t, map[string]string{"a": "there"}, files(t, dir))
	put(t, dir, map[string]string{"a": "newer"})
	r, err = transfer.Import(t.Context(), c, dir, transfer.Options{Overwrite: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]transfer.Outcome{"/a": transfer.Updated}, outcomes(r))
	page, err := c.List(t.Context(), store.ListQuery{Full: true})
	require.NoError(t, err)
	assert.Equal(t, "newer", string(page.Memories[0].Content))
}

func TestExportStaysInItsDirectory(t *testing.T) {
	dir, outside, c := t.TempDir(), t.TempDir(), newStore(t)
	for _, path := range []string{"/link/a", "/file"} {
		_, err := c.Create(t.Context(), path, []byte("text"))
		require.NoError(t, err)
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "file")))
	r, err := transfer.Export(t.Context(), c, dir, transfer.Options{Overwrite: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]transfer.Outcome{"/link/a": transfer.Failed, "/file": transfer.Failed}, outcomes(r))
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// deaf loses every answer to the first try of a create, and fails reads with
// what it is told.
type deaf struct {
	store.Client
	lost map[string]bool
	err  error
}

func (d *deaf) Create(ctx context.Context, path string, content []byte) (store.Memory, error) {
	m, err := d.Client.Create(ctx, path, content)
	if !d.lost[path] {
		d.lost[path] = true
		return store.Memory{}, &store.UnavailableError{Status: 502}
	}
	return m, err
}

func (d *deaf) Get(ctx context.Context, id string) (store.Memory, error) {
	if d.err != nil {
		return store.Memory{}, d.err
	}
	return d.Client.Get(ctx, id)
}

func TestALostAnswerIsNoProblem(t *testing.T) {
	dir := t.TempDir()
	c := &deaf{Client: newStore(t), lost: map[string]bool{}}
	put(t, dir, map[string]string{"a": "x"})
	r, err := transfer.Import(t.Context(), c, dir, transfer.Options{})
	require.NoError(t, err)
	assert.Equal(t, map[string]transfer.Outcome{"/a": transfer.Created}, outcomes(r))

	c.err = store.ErrUnauthorized
	_, err = transfer.Export(t.Context(), c, t.TempDir(), transfer.Options{})
	require.ErrorIs(t, err, store.ErrUnauthorized, "no use in asking for the others")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = transfer.Import(ctx, c, dir, transfer.Options{})
	require.ErrorIs(t, err, context.Canceled)
}
