package objects_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"memfs/store"
	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
	"memfs/store/replica/objects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) (*objects.Store, *disktest.Faults, string) {
	t.Helper()
	faults := new(disktest.Faults)
	path := filepath.Join(t.TempDir(), "objects")
	dir, err := disk.Open(path, faults.Hook)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	s, err := objects.Open(dir)
	require.NoError(t, err)
	faults.Reset()
	return s, faults, path
}

func put(t testing.TB, s *objects.Store, text string) store.SHA {
	t.Helper()
	sha := store.Hash([]byte(text))
	require.NoError(t, s.Put(sha, []byte(text)))
	return sha
}

func requireText(t testing.TB, s *objects.Store, sha store.SHA, text string) {
	t.Helper()
	content, err := s.Get(sha)
	require.NoError(t, err)
	require.Equal(t, text, string(content))
	require.True(t, s.Has(sha))
}

func requireMissing(t testing.TB, s *objects.Store, sha store.SHA) {
	t.Helper()
	_, err := s.Get(sha)
	require.ErrorIs(t, err, objects.ErrMissing)
}

func TestPutAndGet(t *testing.T) {
	s, _, _ := open(t)
	for _, text := range []string{"", "text", "\x00\xff"} {
		requireText(t, s, put(t, s, text), text)
	}
	sha := store.Hash([]byte("never put"))
	requireMissing(t, s, sha)
	assert.False(t, s.Has(sha))
	assert.ErrorIs(t, s.Need(sha), objects.ErrMissing)
	assert.NoError(t, s.Remove(sha))
}

func TestHasAsksTheDiskOnlyOnce(t *testing.T) {
	s, faults, path := open(t)
	sha := put(t, s, "text")
	before := len(faults.Seen("", ""))
	assert.True(t, s.Has(sha))
	assert.False(t, s.Has(store.Hash([]byte("never put"))))
	assert.Len(t, faults.Seen("", ""), before)

	dir, err := disk.Open(path, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.Close()) }()
	again, err := objects.Open(dir)
	require.NoError(t, err)
	assert.True(t, again.Has(sha), "from an earlier process")

	require.NoError(t, os.Remove(filepath.Join(path, sha.String())))
	requireMissing(t, s, sha)
	assert.False(t, s.Has(sha), "wiped by somebody")
	requireText(t, s, put(t, s, "text"), "text")
	require.NoError(t, s.Remove(sha))
	assert.False(t, s.Has(sha))
}

func TestPuttingWhatIsHereWritesNothing(t *testing.T) {
	s, faults, path := open(t)
	put(t, s, "text")
	before := len(faults.Seen("", disk.KindWrite))
	put(t, s, "text")
	assert.Len(t, faults.Seen("", disk.KindWrite), before)

	// Nor does another process's object, once it is verified.
	dir, err := disk.Open(path, faults.Hook)
	require.NoError(t, err)
	defer func() { assert.NoError(t, dir.Close()) }()
	again, err := objects.Open(dir)
	require.NoError(t, err)
	put(t, again, "text")
	assert.Len(t, faults.Seen("", disk.KindWrite), before)
	require.NoError(t, again.Sync())
	assert.Len(t, faults.Seen("objects.sync", disk.KindSync), 2, "it may not have been synced before")
}

func TestR16_DamageIsNeverRead(t *testing.T) {
	s, _, path := open(t)
	sha := put(t, s, "some text")
	file := filepath.Join(path, sha.String())
	for _, damage := range []string{"", "some", "some texT", "some text and more"} {
		require.NoError(t, os.WriteFile(file, []byte(damage), 0o600))
		requireMissing(t, s, sha)
		assert.NoFileExists(t, file)
		put(t, s, "some text")
		requireText(t, s, sha, "some text")
	}
}

func TestR16_PutReplacesDamageFromBefore(t *testing.T) {
	s, _, path := open(t)
	sha := store.Hash([]byte("text"))
	for _, damage := range []string{"", "tex", "texT"} { // as power loss leaves them
		require.NoError(t, os.WriteFile(filepath.Join(path, sha.String()), []byte(damage), 0o600))
		put(t, s, "text")
		requireText(t, s, sha, "text")
		require.NoError(t, s.Remove(sha))
	}
}

func TestAnUnreadableObjectIsMissingButStays(t *testing.T) {
	s, faults, path := open(t)
	sha := put(t, s, "text")
	faults.Add(disktest.Rule{Label: "objects.get", Kind: disk.KindRead, Times: 1, Fault: disk.Fault{Err: syscall.EIO}})
	_, err := s.Get(sha)
	assert.ErrorIs(t, err, objects.ErrMissing)
	assert.ErrorIs(t, err, syscall.EIO)
	assert.FileExists(t, filepath.Join(path, sha.String()))
}

func TestR16_SyncCoversEveryPutOnce(t *testing.T) {
	s, faults, _ := open(t)
	files := func() int { return len(faults.Seen("objects.sync", disk.KindSync)) }
	put(t, s, "a")
	put(t, s, "b")
	put(t, s, "a")
	require.NoError(t, s.Sync())
	assert.Equal(t, 3, files(), "two objects and the directory")
	require.NoError(t, s.Sync())
	put(t, s, "b")
	require.NoError(t, s.Sync())
	assert.Equal(t, 3, files(), "all of it was durable")
	put(t, s, "c")
	require.NoError(t, s.Sync())
	assert.Equal(t, 5, files())
}

func TestCachedContentIsSyncedOnceItIsNeeded(t *testing.T) {
	s, faults, _ := open(t)
	a, b := store.Hash([]byte("a")), store.Hash([]byte("b"))
	require.NoError(t, s.Cache(a, []byte("a")))
	require.NoError(t, s.Cache(b, []byte("b")))
	require.NoError(t, s.Sync())
	assert.Empty(t, faults.Seen("", disk.KindSync))
	require.NoError(t, s.Need(a))
	require.NoError(t, s.Cache(a, []byte("a")), "which does not take it back")
	require.NoError(t, s.Sync())
	assert.Len(t, faults.Seen("objects.sync", disk.KindSync), 2)
	put(t, s, "b")
	require.NoError(t, s.Sync())
	assert.Len(t, faults.Seen("objects.sync", disk.KindSync), 4)
}

func TestAFailedSyncIsDoneWithANewFile(t *testing.T) {
	s, faults, path := open(t)
	sha := put(t, s, "text")
	file := filepath.Join(path, sha.String())
	before, err := os.Stat(file)
	require.NoError(t, err)
	faults.Add(disktest.Rule{Label: "objects.sync", Kind: disk.KindSync, Times: 1, Fault: disk.Fault{Err: syscall.EIO}})
	require.ErrorIs(t, s.Sync(), syscall.EIO)
	after, err := os.Stat(file)
	require.NoError(t, err)
	assert.False(t, os.SameFile(before, after))
	require.NoError(t, s.Sync())
	assert.Len(t, faults.Seen("objects.sync", disk.KindSync), 3, "failed, then file and directory")
	requireText(t, s, sha, "text")
}

func TestAFailedDirectorySyncIsDoneAgain(t *testing.T) {
	s, faults, _ := open(t)
	put(t, s, "text")
	faults.Add(disktest.Rule{Label: "objects.sync", Kind: disk.KindSync, Skip: 1, Times: 1, Fault: disk.Fault{Err: syscall.EIO}})
	require.ErrorIs(t, s.Sync(), syscall.EIO)
	require.NoError(t, s.Sync())
	assert.Len(t, faults.Seen("objects.sync", disk.KindSync), 4)
}

func TestR20_AFullDiskIsReported(t *testing.T) {
	s, faults, path := open(t)
	sha := store.Hash([]byte("text"))
	faults.Add(disktest.Rule{Label: "objects.put", Kind: disk.KindWrite, Times: 1, Fault: disk.Fault{Err: syscall.ENOSPC, Short: 2}})
	require.ErrorIs(t, s.Put(sha, []byte("text")), syscall.ENOSPC)
	requireMissing(t, s, sha)
	names, err := os.ReadDir(path)
	require.NoError(t, err)
	assert.Empty(t, names)
	put(t, s, "text")
	requireText(t, s, sha, "text")
}

func TestR16_SurvivesBeingWiped(t *testing.T) {
	s, _, path := open(t)
	a := put(t, s, "a")
	require.NoError(t, s.Sync())
	b := put(t, s, "b")
	require.NoError(t, os.RemoveAll(path))
	requireMissing(t, s, a)
	requireMissing(t, s, b)
	require.NoError(t, s.Sync())
	put(t, s, "a")
	put(t, s, "b")
	require.NoError(t, s.Sync())
	requireText(t, s, a, "a")
	requireText(t, s, b, "b")
}

func sweep(s *objects.Store, keep func(store.SHA) bool) error {
	w := s.BeginSweep()
	defer w.End()
	return w.Remove(keep)
}

func TestSweepKeepsWhatIsWantedOrPutMeanwhile(t *testing.T) {
	s, _, path := open(t)
	keep, drop, late, needed := put(t, s, "keep"), put(t, s, "drop"), put(t, s, "late"), put(t, s, "needed")
	foreign := filepath.Join(path, "foreign")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	require.NoError(t, sweep(s, func(sha store.SHA) bool {
		put(t, s, "late") // with no lock held that this would wait for
		assert.NoError(t, s.Need(needed))
		return sha == keep
	}))
	requireText(t, s, keep, "keep")
	requireText(t, s, late, "late")
	requireText(t, s, needed, "needed")
	requireMissing(t, s, drop)
	assert.FileExists(t, foreign)
	require.NoError(t, sweep(s, func(store.SHA) bool { return false }))
	requireMissing(t, s, late)
}

func TestOpenRemovesUnfinishedWrites(t *testing.T) {
	s, faults, path := open(t)
	faults.Kill(3, false)
	require.Error(t, s.Put(store.Hash([]byte("a")), []byte("a")))
	faults.Reset()
	dir, err := disk.Open(path, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, dir.Close()) }()
	_, err = objects.Open(dir)
	require.NoError(t, err)
	names, err := os.ReadDir(path)
	require.NoError(t, err)
	assert.Empty(t, names)
}

func TestConcurrentUse(t *testing.T) {
	s, _, _ := open(t)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 50 {
				text := fmt.Sprint(i % 10)
				sha := put(t, s, text)
				switch (i + w) % 4 {
				case 0:
					assert.NoError(t, s.Sync())
				case 1:
					assert.NoError(t, sweep(s, func(store.SHA) bool { return true }))
				case 2:
					_, err := s.Get(sha)
					assert.NoError(t, err)
				}
			}
		})
	}
	all.Wait()
}

// Whatever was put and synced is whole after power loss, and nothing else is
// ever read than what was put.
func TestR16_PowerLossKeepsSyncedObjects(t *testing.T) {
	root := filepath.Join(t.TempDir(), "objects")
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(rt, os.RemoveAll(root))
		recorder := disktest.NewRecorder()
		dir, err := disk.Open(root, recorder.Hook)
		require.NoError(rt, err)
		s, err := objects.Open(dir)
		require.NoError(rt, err)
		synced, put := map[store.SHA]bool{}, map[store.SHA]bool{}
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "sync") {
				require.NoError(rt, s.Sync())
				for sha := range put {
					synced[sha] = true
				}
				continue
			}
			content := make([]byte, rapid.IntRange(0, 2000).Draw(rt, "size"))
			sha := store.Hash(content)
			require.NoError(rt, s.Put(sha, content))
			put[sha] = true
		}
		require.NoError(rt, dir.Close())

		image := filepath.Join(filepath.Dir(root), "image")
		require.NoError(rt, os.RemoveAll(image))
		require.NoError(rt, recorder.Image(root, image, recorder.Len(), func() bool { return rapid.Bool().Draw(rt, "keep") }))
		dir, err = disk.Open(image, nil)
		require.NoError(rt, err)
		s, err = objects.Open(dir)
		require.NoError(rt, err)
		for sha := range put {
			content, err := s.Get(sha)
			if synced[sha] || err == nil {
				require.NoError(rt, err)
				require.Equal(rt, sha, store.Hash(content))
			}
		}
		require.NoError(rt, dir.Close())
	})
}

func BenchmarkPutPresent(b *testing.B) {
	s, _, _ := open(b)
	content := make([]byte, 4096)
	sha := store.Hash(content)
	for b.Loop() {
		if err := s.Put(sha, content); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPutNew(b *testing.B) {
	s, _, _ := open(b)
	for i := 0; b.Loop(); i++ {
		content := fmt.Appendf(make([]byte, 4096), "%d", i)
		if err := s.Put(store.Hash(content), content); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSync100(b *testing.B) {
	s, _, _ := open(b)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		for k := range 100 {
			content := fmt.Appendf(make([]byte, 4096), "%d %d", i, k)
			if err := s.Put(store.Hash(content), content); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := s.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
