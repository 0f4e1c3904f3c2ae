package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

// What somebody makes of a memory before we hear that it was created is seen.
func TestR5_ACreateThatIsOvertaken(t *testing.T) {
	t.Run("by an edit", func(t *testing.T) {
		overtaken(t, func(b *bench) { b.put("/a", "theirs") }, map[string]string{"/a": "theirs"})
	})
	t.Run("by a delete", func(t *testing.T) {
		overtaken(t, func(b *bench) { b.drop("/a") }, map[string]string{})
	})
	t.Run("by a delete and a listing", func(t *testing.T) {
		overtaken(t, func(b *bench) { b.drop("/a"); b.rec.learner.distrust() }, map[string]string{})
	})
}

// overtaken runs a pass after a create has arrived and something happened to its
// memory, and before its answer is here.
func overtaken(t *testing.T, happens func(*bench), want map[string]string) {
	withBench(t, nil, func(b *bench) {
		b.write("/a", "mine")
		release := make(chan struct{})
		b.hook(nil, func(call string) error {
			if strings.HasPrefix(call, "create") {
				<-release
			}
			return nil
		})
		_, err := b.timed()
		require.NoError(t, err)
		happens(b)
		_, err = b.timed()
		require.NoError(t, err)
		close(release)
		for range 2 {
			_, err = b.timed()
			require.NoError(t, err)
		}
		require.Equal(t, want, b.tree())
		require.Empty(t, b.losers())
		b.converged()
	})
}

// A losing text that cannot be read holds back its own file only.
func TestR7_ATextThatCannotBeKeptHoldsBackNothingElse(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.write("/a", "mine")
		b.restart()
		damage(b, "mine")
		b.put("/a", "theirs a")
		b.put("/b", "theirs b")
		_, err := b.timed()
		require.ErrorIs(t, err, replica.ErrDamaged)
		require.Equal(t, "theirs b", b.read("/b"))
		require.Equal(t, 1, b.rep.Status().Dirty)
	})
}

// damage makes the object of a text another.
func damage(b *bench, text string) {
	found, err := filepath.Glob(filepath.Join(b.dir, "replicas", "*", "objects", store.Hash([]byte(text)).String()))
	require.NoError(b, err)
	require.Len(b, found, 1)
	require.NoError(b, os.WriteFile(found[0], []byte("rotten"), 0o600))
}

// A file was moved here without its text ever being needed, and the store has
// deleted it for good meanwhile: that is said, and the store is not asked again.
func TestR9_ATextThatIsNowhere(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a secret") }, func(b *bench) {
		b.mv("/a", "/b")
		b.drop("/a")
		b.redact("a secret")
		_, err := b.timed()
		require.NoError(t, err)
		require.Equal(t, 1, b.rep.Status().Refused)
		require.Equal(t, 1, b.warned("refused"))
		require.Zero(t, b.warned("store_gone"))
		b.called()
		_, err = b.timed()
		require.NoError(t, err)
		require.Len(t, b.called(), 1)

		b.put("/b", "theirs")
		_, err = b.timed()
		require.NoError(t, err)
		require.Equal(t, "theirs", b.read("/b"))
		b.converged()
	})
}

// A memory whose path is too long to be shown is in the way all the same.
func TestR12_ALongPathIsInTheWay(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.fake.mu.Lock()
		old := b.fake.write(store.Memory{}, "/a"+strings.Repeat("/x", store.MaxSegments), []byte("old"), store.Created)
		b.fake.mu.Unlock()
		b.write("/a", "mine")
		for range 2 {
			_, err := b.timed()
			require.NoError(t, err)
			require.Empty(t, changes(b.called()))
		}
		require.Equal(t, 1, b.warned("path_taken"))
		require.Equal(t, 1, b.rep.Status().Held)
		b.drop(old.Path)
		time.Sleep(time.Second)
		b.sync()
		require.Equal(t, map[string]string{"/a": "mine"}, b.texts())
	})
}

// A rename that the store does not do in one request says nothing of the next.
func TestR6_ARenameThatWasNotDoneSaysNothingOfTheNext(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/x", "text"); b.o.Deletions = DeletionsDisabled }, func(b *bench) {
		id := b.id("/x")
		b.mv("/x", "/t")
		b.mv("/t", "/x/in")
		b.answering("update", &store.PathConflictError{ID: id, Path: "/x"})
		b.sync()
		require.Equal(t, 1, b.rep.Status().Held)
		b.mv("/x/in", "/c")
		b.sync()
		require.Equal(t, id, b.id("/c"))
		b.converged()
	})
}

// Many conflicts at once take time for each, and not for each pair.
func TestR7_ManyConflictsReadTheConflictAreaOnce(t *testing.T) {
	const many = 40
	var reads atomic.Int64
	withBench(t, func(b *bench) {
		b.onDisk = func(op disk.Op) disk.Fault {
			if op.Label == "conflicts.read" {
				reads.Add(1)
			}
			return disk.Fault{}
		}
	}, func(b *bench) {
		for i := range many {
			b.write(fmt.Sprint("/f", i), fmt.Sprint("mine ", i))
			b.put(fmt.Sprint("/f", i), fmt.Sprint("theirs ", i))
		}
		b.sync()
		require.Len(t, b.losers(), many)
		require.Equal(t, many, b.warned("conflict"))
		require.Less(t, reads.Load(), int64(20*many))
	})
}

// What was emptied and rests so stays empty after a kill, although the store
// could not be told.
func TestR16_AnEmptiedFileThatRestsIsMeantToBeEmpty(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/rested", "text"); b.put("/fresh", "text") }, func(b *bench) {
		b.hook(func(string) error { return errNoAnswer }, nil)
		empty := func(p string) {
			var size int64
			a, err := b.lookup(p)
			require.NoError(t, err)
			_, err = b.rep.Setattr(b.Context(), a.Ino, replica.SetAttr{Size: &size})
			require.NoError(t, err)
		}
		empty("/rested")
		time.Sleep(b.rec.o.Interval)
		empty("/fresh")
		time.Sleep(b.rec.o.Interval)
		_, err := b.rec.Pass(b.Context(), PassOptions{})
		require.Error(t, err)
		b.kill()
		b.hook(nil, nil)
		require.Equal(t, map[string]string{"/rested": "", "/fresh": "text"}, b.tree())
	})
}

// kill goes on with the state as a SIGKILL would leave it now.
func (b *bench) kill() {
	left := b.dir + ".left"
	require.NoError(b, os.CopyFS(left, os.DirFS(b.dir)))
	require.NoError(b, filepath.WalkDir(left, func(p string, at os.DirEntry, err error) error {
		if err != nil || !at.IsDir() {
			return errors.Join(err, os.Chmod(p, 0o600))
		}
		return os.Chmod(p, 0o700)
	}))
	require.NoError(b, b.rep.Close())
	b.dir = left
	b.open()
}

// Every memory of a large store may lie in directories of its own.
func TestR1_DeepTreesFitIntoTheJournal(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		var changes []Change
		for i := range 14_000 {
			id := fmt.Sprintf("mem_01ABCDEFGHJKMNPQRSTV%08d", i)
			base := replica.Base{ID: id, VersionID: "memver_" + id, Path: fmt.Sprint("/", i, strings.Repeat("/x", store.MaxSegments-1)),
				SHA: store.Hash([]byte(id)), Size: int64(len(id)), CreatedAt: time.Now(), UpdatedAt: time.Now()}
			changes = append(changes, Change{Apply: replica.Apply{Place: replica.PutFile, ID: id, Base: &base}})
		}
		for _, part := range parts(changes) {
			p := &passing{Reconciler: b.rec}
			require.NoError(t, p.applySet(part))
		}
	})
}
