package replica

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica/disk"
)

// TestR16_WhatACheckpointsTailBuildsOnIsKept: a memory comes, and is edited,
// between a checkpoint's snapshot and its end.
func TestR16_WhatACheckpointsTailBuildsOnIsKept(t *testing.T) {
	var meanwhile func()
	w := newWorld(t, func(o *Options) {
		o.Hook = func(op disk.Op) disk.Fault {
			if f := meanwhile; f != nil && op.Label == "journal.new-sync" {
				meanwhile = nil
				f()
			}
			return disk.Fault{}
		}
	})
	meanwhile = func() {
		w.base("a", "/a", "theirs")
		_, err := w.Write(context.Background(), w.ino("/a"), []byte(" and mine"), 6)
		require.NoError(t, err)
	}
	require.NoError(t, w.Checkpoint())
	require.Nil(t, meanwhile)
	clear(w.texts) // the store cannot be asked
	w.kill()
	assert.Equal(t, "theirs and mine", w.read("/a"))
}

func TestR11_AWriteOverAContentThatIsTooLargeAlready(t *testing.T) {
	w := newWorld(t)
	big := make([]byte, store.MaxContent+10)
	w.base("a", "/a", string(big))
	n, err := w.Write(context.Background(), w.ino("/a"), []byte(string(big)+"x"), 0)
	require.NoError(t, err)
	assert.Equal(t, store.MaxContent, n)
	assert.Len(t, w.read("/a"), len(big))
}

func TestR4_AFileIsHeldUntilItIsSavedInPlace(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	w.base("a", "/a", "text")
	ino := w.ino("/a")
	_, err := w.Write(ctx, ino, []byte("x"), store.MaxContent)
	require.ErrorIs(t, err, ErrFileTooLarge)
	for _, save := range []struct {
		text string
		off  int64
		held bool
	}{{"more", 4, true}, {"part", 0, true}, {"all of it anew", 0, false}} {
		_, err = w.Write(ctx, ino, []byte(save.text), save.off)
		require.NoError(t, err)
		assert.Equal(t, save.held, w.Snapshot(nil, nil).Memories[0].At.Failed, save.text)
	}
	_, err = w.Write(ctx, ino, make([]byte, store.MaxContent+1), 0)
	require.NoError(t, err)
	assert.True(t, w.Snapshot(nil, nil).Memories[0].At.Failed, "a short write is half a save")
}

// Nobody hears of a close, so what is written when the save that failed is over is
// another save. Cutting a file says what it is to be.
func TestR4_AFileIsHeldUntilALaterSave(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	w.base("a", "/a", "text")
	w.base("b", "/b", "text")
	held := func(path string) bool {
		for _, m := range w.Snapshot(nil, nil).Memories {
			if m.Base.Path == path {
				return m.At.Failed
			}
		}
		return false
	}
	for _, path := range []string{"/a", "/b"} {
		_, err := w.Write(ctx, w.ino(path), []byte("ure"), 4)
		require.NoError(t, err)
		_, err = w.Write(ctx, w.ino(path), []byte("x"), store.MaxContent)
		require.ErrorIs(t, err, ErrFileTooLarge)
		_, err = w.Write(ctx, w.ino(path), []byte("d"), 7)
		require.NoError(t, err)
		require.True(t, held(path), "the rest of a save")
	}
	w.clock.advance(saveRest)
	_, err := w.Write(ctx, w.ino("/a"), []byte(" and more"), 8)
	require.NoError(t, err)
	require.False(t, held("/a"), "another save")
	longer, shorter := int64(20), int64(5)
	_, err = w.Setattr(ctx, w.ino("/b"), SetAttr{Size: &longer})
	require.NoError(t, err)
	require.True(t, held("/b"), "room for what is still to be written")
	_, err = w.Setattr(ctx, w.ino("/b"), SetAttr{Size: &shorter})
	require.NoError(t, err)
	w.kill()
	require.False(t, held("/a"))
	require.False(t, held("/b"))
	require.Equal(t, "textured and more", w.read("/a"))
	require.Equal(t, "textu", w.read("/b"))
}

// R4, R20: since when a file waits to be sent is known through kills and
// checkpoints.
func TestR4_SinceWhenAFileDiffersOutlivesACheckpoint(t *testing.T) {
	w := newWorld(t)
	w.base("a", "/a", "text")
	w.write("/a", "changed")
	since := w.Snapshot(nil, nil).Memories[0].Carrier.DirtySince
	require.NotZero(t, since)
	require.NoError(t, w.Checkpoint())
	w.kill()
	assert.Equal(t, since.UnixNano(), w.Snapshot(nil, nil).Memories[0].Carrier.DirtySince.UnixNano())
}
