package replica

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
	"memfs/store/replica/disk"
)

func leftovers(t *testing.T, dir string) []Leftover {
	t.Helper()
	found, err := Leftovers(dir)
	require.NoError(t, err)
	return found
}

func TestR16_LeftoversAreListedWithTheirOwner(t *testing.T) {
	w := newWorld(t)
	w.write("/a", "unsent")
	found := leftovers(t, w.o.Dir)
	require.Len(t, found, 1)
	assert.True(t, found[0].Live)
	assert.Equal(t, os.Getpid(), found[0].PID)
	assert.True(t, found[0].Own(w.o))

	require.NoError(t, w.Close())
	found = leftovers(t, w.o.Dir)
	require.Len(t, found, 1)
	l := found[0]
	assert.False(t, l.Live)
	assert.False(t, l.Kept)
	assert.Equal(t, w.o.Store.ID, l.Store)
	assert.Equal(t, w.o.MountPath, l.MountPath)

	r, err := Open(l.Options())
	require.NoError(t, err)
	assert.Equal(t, []string{"/a"}, r.Unsent().Edits)
	require.ErrorIs(t, l.Drop(), ErrInUse)
	require.NoError(t, r.Remove())
	assert.Empty(t, leftovers(t, w.o.Dir))
}

// What was changed under read-only access must never be sent, and what is to be
// sent must not get lost in there: they do not share a journal.
func TestR16_ReadOnlyAccessHasItsOwnReplica(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ReadOnly = true })
	w.write("/a", "not to be sent")
	require.NoError(t, w.Close())
	writable := w.o
	writable.ReadOnly = false
	r, err := Open(writable)
	require.NoError(t, err)
	assert.False(t, r.Unsent().Any())
	require.NoError(t, r.Close())

	var readOnly []bool
	for _, l := range leftovers(t, w.o.Dir) {
		readOnly = append(readOnly, l.ReadOnly)
		require.NoError(t, l.Drop())
	}
	assert.ElementsMatch(t, []bool{true, false}, readOnly)
	assert.Empty(t, leftovers(t, w.o.Dir))
}

func TestKeepIsToldFromACrash(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Keep())
	found := leftovers(t, w.o.Dir)
	require.Len(t, found, 1)
	assert.True(t, found[0].Kept)
	w.open()
	require.NoError(t, w.shut())
	found = leftovers(t, w.o.Dir)
	require.Len(t, found, 1)
	assert.False(t, found[0].Kept, "it was opened since and killed")
}

// A process that was killed, or that failed, before its first journal leaves a
// directory that nothing was ever acknowledged in.
func TestR16_WhatNeverHadAJournalIsSwept(t *testing.T) {
	w := newWorld(t)
	w.write("/a", "kept")
	all := filepath.Join(w.o.Dir, replicasName)
	begin := func(who string) string {
		o := w.o
		o.MountPath = who
		p, err := openPlace(o.Dir, o.key(), nil)
		require.NoError(t, err)
		_, err = p.sub(p.dir, objectsName)
		require.NoError(t, err)
		dir := p.dir.Path()
		for _, name := range []string{"journal.new", "objects/some text"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("begun"), 0o600))
		}
		p.close()
		return dir
	}
	begun, foreign, live := begin("/killed"), begin("/foreign"), begin("/live")
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "letter"), nil, 0o600))
	other := filepath.Join(all, "not-ours")
	require.NoError(t, os.Mkdir(other, 0o700))
	p, err := openPlace(w.o.Dir, filepath.Base(live), nil)
	require.NoError(t, err)
	defer p.close()

	require.NoError(t, Sweep(w.o.Dir))
	assert.NoDirExists(t, begun)
	for _, dir := range []string{foreign, live, other, w.place.dir.Path()} {
		assert.DirExists(t, dir)
	}
	assert.FileExists(t, filepath.Join(live, "journal.new"))
	w.kill()
	assert.Equal(t, "kept", w.read("/a"))
}

// At the end contents that the store has are not put on disk one by one, but
// for a replica that stays.
func TestR16_WhatTheStoreHasGoesToDiskAtTheEndOnlyWhereItStays(t *testing.T) {
	for name, end := range map[string]func(*world) error{
		"closed":  func(w *world) error { return w.Close() },
		"kept":    func(w *world) error { return w.Keep() },
		"removed": func(w *world) error { return w.Remove() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.base("m1", "/a", "before")
			ino := w.write("/a", "after")
			require.NoError(t, w.Ending())
			b, _ := w.Base("m1")
			b.VersionID, b.SHA, b.Size = "v2", store.Hash([]byte("after")), 5
			seq, err := w.BeginSend(Send{Op: OpUpdate, ID: b.ID, SHA: b.SHA, Ino: ino})
			require.NoError(t, err)
			require.NoError(t, w.Settle(seq, &Apply{ID: b.ID, Base: &b, Ino: ino}))
			require.False(t, w.Unsent().Any())
			assert.False(t, w.objects.Has(b.SHA))
			assert.Equal(t, "after", w.read("/a"))
			require.NoError(t, end(w))
			if name == "removed" {
				return
			}
			w.open()
			assert.True(t, w.objects.Has(b.SHA))
			assert.Equal(t, "after", w.read("/a"), "without asking the store")
			assert.Equal(t, "m1", w.tree.nodes[w.ino("/a")].content.memory, "which has it")
			assert.False(t, w.Unsent().Any())
		})
	}
}

func TestUnsentNamesEditsAndDeletes(t *testing.T) {
	w := newWorld(t)
	w.base("m1", "/clean", "1")
	w.base("m2", "/deleted", "2")
	w.base("m3", "/renamed", "3")
	w.base("m4", "/edited", "4")
	w.base("m5", "/replaced", "5")
	assert.False(t, w.Unsent().Any())
	w.rm("/deleted")
	w.mv("/renamed", "/d/new name")
	w.write("/edited", "other")
	w.write("/temp", "text")
	w.mv("/temp", "/replaced")
	w.write("/made", "new")
	w.write("/scratch~", "local only")
	u := w.Unsent()
	assert.Equal(t, []string{"/d/new name", "/edited", "/made", "/replaced"}, u.Edits)
	assert.Equal(t, []string{"/deleted"}, u.Deletes)
	assert.WithinDuration(t, w.clock.t, u.Newest, 1e9)
}

// files are the names, sizes and times of everything in a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out[path] = info.ModTime().String()
		}
		return err
	}))
	return out
}

func TestLookChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.base("m1", "/memory", "agreed text")
	w.write("/memory", "changed text")
	w.write("/a", "unsent")
	require.NoError(t, w.shut())
	before := files(t, w.o.Dir)
	seen := false
	require.NoError(t, Look(w.o, func(r *Replica) error {
		seen = true
		s := r.Snapshot(nil, nil)
		require.Len(t, s.Files, 1)
		text, err := r.Content(s.Files[0].Ino, s.Files[0].Gen)
		require.NoError(t, err)
		assert.Equal(t, "unsent", string(text))
		assert.Equal(t, []string{"/a", "/memory"}, r.Unsent().Edits)
		_, err = r.Create(Root, "new", 0o600, 0, 0)
		assert.Error(t, err)
		assert.Equal(t, 2, r.Status().Dirty)

		var locked *disk.LockedError
		_, err = Open(w.o)
		require.ErrorAs(t, err, &locked)
		assert.True(t, locked.Ending, "who finds it looked at waits")
		return nil
	}))
	assert.True(t, seen)
	assert.Equal(t, before, files(t, w.o.Dir))
	w.open()
	assert.Equal(t, "unsent", w.read("/a"))
}

// Owners that come and go at the same time find the state free or in use, and
// nothing else.
func TestR16_OpenWhileAnotherEnds(t *testing.T) {
	o := Options{Dir: memoryDir(t), Store: store.Info{ID: "memstore_test"}, Endpoint: "e", MountPath: "/m"}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for opened := 0; opened < 20; {
				r, err := Open(o)
				if errors.Is(err, ErrInUse) {
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				opened++
				if !assert.NoError(t, r.Remove()) {
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestRestoreMarker(t *testing.T) {
	w := newWorld(t)
	require.True(t, w.Snapshot(nil, nil).MarkerOK)
	require.NoError(t, w.RestoreMarker())
	w.write("/"+store.MarkerName, "version 1\nsomebody else's")
	require.False(t, w.Snapshot(nil, nil).MarkerOK)
	require.NoError(t, w.RestoreMarker())
	assert.True(t, w.Snapshot(nil, nil).MarkerOK)
	w.rm("/" + store.MarkerName)
	require.NoError(t, w.RestoreMarker())
	assert.True(t, w.Snapshot(nil, nil).MarkerOK)
}

// Whoever asks at the end hears what was, and no warning.
func TestStatusAfterTheEnd(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	w := newWorld(t, func(o *Options) { o.Log = zap.New(core) })
	w.write("/a", "unsent")
	require.NoError(t, w.Close())
	assert.Equal(t, 1, w.Status().Dirty)
	assert.Empty(t, logged.All())
}
