package replica

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R17: a local-only file without a name takes room for as long as it is open.
func TestR17_OpenFilesWithoutANameCount(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ScratchLimit = 10 })
	room := func(want int) {
		t.Helper()
		assert.Equal(t, int64(10-want), w.tree.scratchBytes+w.tree.heldBytes)
		a, err := w.Create(Root, "probe~", 0o600, 0, 0)
		require.NoError(t, err)
		for size := int64(want + 1); size >= int64(want); size-- {
			_, err = w.Setattr(context.Background(), a.Ino, SetAttr{Size: &size})
			if size > int64(want) {
				require.ErrorIs(t, err, ErrScratchFull)
			}
		}
		require.NoError(t, err)
		w.rm("/probe~")
		w.Forget(a.Ino, 1)
	}
	a, err := w.Create(Root, "a~", 0o600, 0, 0)
	require.NoError(t, err)
	w.write("/a~", "1234")
	room(6)
	w.rm("/a~")
	room(6)
	_, err = w.Write(context.Background(), a.Ino, []byte("12345"), 4)
	require.NoError(t, err)
	room(1)
	b, err := w.Create(Root, "b~", 0o600, 0, 0)
	require.NoError(t, err)
	_, err = w.Write(context.Background(), b.Ino, []byte("12"), 0)
	require.ErrorIs(t, err, ErrScratchFull)
	w.rm("/b~")
	w.Forget(b.Ino, 1)
	w.Forget(a.Ino, 1)
	room(10)

	w.write("/.git/a", "123")
	w.mv("/.git", "/.git2") // a memory's by now
	room(10)
	w.mv("/.git2", "/.git")
	room(7)
	w.write("/over~", "1234567")
	w.mv("/over~", "/.git/a")
	room(3)
	w.kill()
	room(3)
}

// Directories, empty local-only files and removed files that are held open take
// memory too, and no program may take all of it.
func TestR11_WhatIsMadeHereIsBounded(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxMemories = 10 })
	const most = 10 + spareMemories + maxOthers
	var held []Ino
	for i := range most {
		name := fmt.Sprint("d", i)
		switch i % 3 {
		case 0:
			_, err := w.Mkdir(Root, name, 0o700, 0, 0)
			require.NoError(t, err)
		case 1:
			_, err := w.Create(Root, name+"~", 0o600, 0, 0)
			require.NoError(t, err)
		case 2:
			a, err := w.Create(Root, name, 0o600, 0, 0)
			require.NoError(t, err)
			require.NoError(t, w.Unlink(Root, name))
			held = append(held, a.Ino)
		}
	}
	_, err := w.Mkdir(Root, "more", 0o700, 0, 0)
	require.ErrorIs(t, err, ErrTooMany)
	_, err = w.Create(Root, "more~", 0o600, 0, 0)
	require.ErrorIs(t, err, ErrTooMany)
	w.Forget(held[0], 1)
	_, err = w.Create(Root, "more", 0o600, 0, 0)
	require.NoError(t, err)
	w.kill()
	require.Equal(t, most-len(held)+1, w.tree.made, "nobody has anything open any more")
	w.kill()
	require.Equal(t, most-len(held), w.tree.made, "a checkpoint knows of all but the file to be sent")
}
