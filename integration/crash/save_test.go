//go:build linux

package crash

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// savings are saves that stop somewhere, and the text that a kill leaves then.
var savings = map[string]struct {
	save func(t *testing.T, path string)
	want string
}{
	"emptied": {func(t *testing.T, path string) { open(t, path, os.O_TRUNC) }, "before\n"},
	"emptied, closed and opened again": {func(t *testing.T, path string) {
		require.NoError(t, open(t, path, os.O_TRUNC).Close())
		open(t, path, 0)
	}, "before\n"},
	"emptied and synced": {func(t *testing.T, path string) { require.NoError(t, open(t, path, os.O_TRUNC).Sync()) }, ""},
	"half written":       {func(t *testing.T, path string) { put(t, open(t, path, os.O_TRUNC), "ha") }, "ha"},
	"written, not closed": {func(t *testing.T, path string) {
		f := open(t, path, os.O_TRUNC)
		put(t, f, "ha")
		put(t, f, "lf\n")
	}, "half\n"},
	"written and closed": {func(t *testing.T, path string) { write(t, path, "after\n") }, "after\n"},
	"temporary file, not renamed": {func(t *testing.T, path string) {
		write(t, path+".tmp", "after\n")
	}, "before\n"},
	"temporary file, renamed": {func(t *testing.T, path string) {
		write(t, path+".tmp", "after\n")
		require.NoError(t, os.Rename(path+".tmp", path))
	}, "after\n"},
	"backup, not written": {func(t *testing.T, path string) {
		require.NoError(t, os.Rename(path, path+".bak"))
		open(t, path, os.O_CREATE|os.O_EXCL)
	}, ""},
}

func open(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() }) // of a mount that is gone by then
	return f
}

func put(t *testing.T, f *os.File, text string) {
	t.Helper()
	_, err := f.WriteString(text)
	require.NoError(t, err)
}

// TestR16_SavesCutOnAMount cuts saves on a real mount: all kinds at once, on
// files that the store has as they are, that have an unsent edit, and that the
// store does not know.
func TestR16_SavesCutOnAMount(t *testing.T) {
	h := newHost(t)
	p := h.start()
	befores := []string{"known", "edited", "new"}
	for save := range savings {
		write(t, h.path("known, "+save), "before\n")
		write(t, h.path("edited, "+save), "what the store has\n")
	}
	h.sync()
	for save, s := range savings {
		for _, before := range befores {
			write(t, h.path(before+", "+save), "before\n")
			s.save(t, h.path(before+", "+save))
		}
	}
	p.kill()
	p = h.start()
	for save, s := range savings {
		for _, before := range befores {
			assert.Equal(t, s.want, read(t, h.path(before+", "+save)), "%s, %s", before, save)
		}
	}
	assert.Len(t, h.logged("save_cut_off"), 2*len(befores), "of the two that were emptied only")
	assert.Zero(t, p.stop())
	stored := h.texts()
	for save, s := range savings {
		for _, before := range befores {
			assert.Equal(t, s.want, stored["/"+before+", "+save], "%s, %s", before, save)
		}
	}
}
