package replica

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

// now is a millisecond later whenever it is asked.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(time.Millisecond)
	return c.t
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

// world is a replica under test and what it is opened with.
type world struct {
	*Replica
	t     *testing.T
	o     Options
	clock *clock
	texts map[store.SHA]string // what the store could give
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), texts: map[store.SHA]string{}}
	w.o = Options{Dir: t.TempDir(), Store: store.Info{ID: "memstore_test", Name: "Test"}, Endpoint: "http://localhost", MountPath: "/mnt/memory/test",
		Now: w.clock.now, Fetch: func(_ context.Context, _, _ string, want store.SHA) ([]byte, error) {
			if text, ok := w.texts[want]; ok {
				return []byte(text), nil
			}
			return nil, store.ErrNotFound
		}}
	require.NoError(t, os.Chmod(w.o.Dir, 0o700))
	for _, f := range change {
		f(&w.o)
	}
	w.open()
	t.Cleanup(func() { _ = w.Replica.Close() })
	return w
}

func (w *world) open() {
	w.t.Helper()
	r, err := Open(w.o)
	require.NoError(w.t, err)
	w.Replica = r
}

// kill leaves the replica as SIGKILL would and opens it again.
func (w *world) kill() {
	w.t.Helper()
	require.NoError(w.t, w.shut())
	w.open()
}

// base makes the replica agree with the store on a memory.
func (w *world) base(id, path, text string) Base {
	w.t.Helper()
	b := Base{ID: id, VersionID: "v-" + id, Path: path, SHA: store.Hash([]byte(text)), Size: int64(len(text)),
		CreatedAt: w.clock.now(), UpdatedAt: w.clock.now()}
	w.texts[b.SHA] = text
	applied, err := w.Apply([]Apply{{Place: PutFile, ID: id, Base: &b}})
	require.NoError(w.t, err)
	require.Equal(w.t, []bool{true}, applied)
	return b
}

func (w *world) walk(path string) (Ino, string) {
	w.t.Helper()
	dir := Root
	for {
		name, rest := cutName(path)
		if rest == "" {
			return dir, name
		}
		a, err := w.Lookup(dir, name)
		if err != nil {
			a, err = w.Mkdir(dir, name, 0o700, 0, 0)
		}
		require.NoError(w.t, err)
		w.Forget(a.Ino, 1)
		dir, path = a.Ino, rest
	}
}

func (w *world) ino(path string) Ino {
	w.t.Helper()
	dir, name := w.walk(path)
	a, err := w.Lookup(dir, name)
	require.NoError(w.t, err, path)
	w.Forget(a.Ino, 1)
	return a.Ino
}

func (w *world) write(path, text string) Ino {
	w.t.Helper()
	dir, name := w.walk(path)
	a, err := w.Lookup(dir, name)
	if err != nil {
		a, err = w.Create(dir, name, 0o600, 0, 0)
	}
	require.NoError(w.t, err)
	defer w.Forget(a.Ino, 1)
	zero := int64(0)
	_, err = w.Setattr(context.Background(), a.Ino, SetAttr{Size: &zero})
	require.NoError(w.t, err)
	n, err := w.Write(context.Background(), a.Ino, []byte(text), 0)
	require.NoError(w.t, err)
	require.Equal(w.t, len(text), n)
	return a.Ino
}

func (w *world) read(path string) string {
	w.t.Helper()
	return w.readIno(w.ino(path))
}

func (w *world) readIno(ino Ino) string {
	w.t.Helper()
	p := make([]byte, 1<<20)
	n, err := w.Read(context.Background(), ino, p, 0)
	require.NoError(w.t, err)
	return string(p[:n])
}

func (w *world) rm(path string) {
	w.t.Helper()
	dir, name := w.walk(path)
	w.see(dir, name)
	require.NoError(w.t, w.Unlink(dir, name))
}

func (w *world) mv(from, to string) {
	w.t.Helper()
	d1, n1 := w.walk(from)
	d2, n2 := w.walk(to)
	w.see(d1, n1)
	w.see(d2, n2)
	require.NoError(w.t, w.Rename(d1, n1, d2, n2, false))
}

// see looks a name up, as a kernel does before it changes it.
func (w *world) see(dir Ino, name string) {
	if a, err := w.Lookup(dir, name); err == nil {
		w.Forget(a.Ino, 1)
	}
}

func (w *world) names(dir Ino) []string {
	w.t.Helper()
	entries, err := w.ReadDir(dir, 0, 0)
	require.NoError(w.t, err)
	var out []string
	for _, e := range entries {
		if e.Name != store.MarkerName {
			out = append(out, e.Name)
		}
	}
	return out
}

func TestR13_MarkerIsThereAndOurs(t *testing.T) {
	w := newWorld(t)
	assert.Equal(t, "version 1\nmemstore_test", w.read("/"+store.MarkerName))
	assert.True(t, w.Snapshot(nil, nil).MarkerOK)
	w.rm("/" + store.MarkerName)
	assert.False(t, w.Snapshot(nil, nil).MarkerOK)
	w.write("/"+store.MarkerName, "version 1\nmemstore_test")
	assert.True(t, w.Snapshot(nil, nil).MarkerOK)
}

func TestR3_AcknowledgedChangesSurviveAKill(t *testing.T) {
	w := newWorld(t)
	w.base("m1", "/notes/a.md", "one")
	w.base("m2", "/notes/b.md", "two")
	w.write("/notes/a.md", "one, edited")
	w.write("/new/deep/c.md", "three")
	w.rm("/notes/b.md")
	w.mv("/new", "/moved")
	w.kill()
	assert.Equal(t, "one, edited", w.read("/notes/a.md"))
	assert.Equal(t, "three", w.read("/moved/deep/c.md"))
	assert.Equal(t, []string{"a.md"}, w.names(w.ino("/notes")))

	s := w.Snapshot(nil, nil)
	require.Len(t, s.Memories, 2)
	assert.Equal(t, "m1", s.Memories[0].Base.ID)
	require.NotNil(t, s.Memories[0].At)
	assert.Equal(t, store.Hash([]byte("one, edited")), s.Memories[0].At.SHA)
	assert.Nil(t, s.Memories[1].At)
	assert.Nil(t, s.Memories[1].Carrier)
	require.Len(t, s.Files, 1)
	assert.Equal(t, "/moved/deep/c.md", s.Files[0].Path)
}

func TestSnapshot_ForgetsWhatIsCleanAgain(t *testing.T) {
	w := newWorld(t)
	b := w.base("m1", "/a", "text")
	assert.Empty(t, w.Snapshot(nil, nil).Memories)
	w.write("/a", "other")
	require.Len(t, w.Snapshot(nil, nil).Memories, 1)
	w.write("/a", "text")
	assert.Empty(t, w.Snapshot(nil, nil).Memories)

	ino := w.write("/a", "sent")
	s := w.Snapshot(nil, nil)
	seq, err := w.BeginSend(Send{Op: OpUpdate, ID: "m1", Path: "/a", SHA: s.Memories[0].At.SHA, Ino: ino})
	require.NoError(t, err)
	assert.Len(t, w.Snapshot(nil, nil).Sends, 1)
	b.SHA, b.Size, b.VersionID = store.Hash([]byte("sent")), 4, "v2"
	require.NoError(t, w.Settle(seq, &Apply{ID: "m1", Base: &b, Ino: ino}))
	s = w.Snapshot(nil, nil)
	assert.Empty(t, s.Memories)
	assert.Empty(t, s.Sends)
	assert.Equal(t, "sent", w.read("/a"))
}

func TestR6_CarrierFollowsTheRename(t *testing.T) {
	w := newWorld(t)
	w.base("m1", "/a", "text")
	w.mv("/a", "/b")
	s := w.Snapshot(nil, nil)
	require.Len(t, s.Memories, 1)
	assert.Nil(t, s.Memories[0].At)
	require.NotNil(t, s.Memories[0].Carrier)
	assert.Equal(t, "/b", s.Memories[0].Carrier.Path)
	assert.Equal(t, "m1", s.Memories[0].Carrier.MemoryID)
}

func TestR2_RemoteChangeSwapsTheInode(t *testing.T) {
	w := newWorld(t)
	b := w.base("m1", "/d/a", "old")
	var news []Change
	w.Watch(func(c []Change) { news = append(news, c...) })
	dir, name := w.walk("/d/a")
	held, err := w.Lookup(dir, name)
	require.NoError(t, err)
	b.SHA, b.Size = store.Hash([]byte("newer text")), 10
	w.texts[b.SHA] = "newer text"
	f := w.Snapshot([]string{"m1"}, nil).Memories[0].At
	applied, err := w.Apply([]Apply{{Place: PutFile, ID: "m1", Base: &b, Ino: f.Ino, Gen: f.Gen}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
	assert.Equal(t, "old", w.readIno(held.Ino))
	assert.Equal(t, "newer text", w.read("/d/a"))
	assert.NotEqual(t, held.Ino, w.ino("/d/a"))
	assert.Equal(t, []Change{{Parent: dir, Name: "a", Old: held.Ino}, {Parent: dir, Name: "a"}}, news)

	t.Run("a write to the old inode is a stray text", func(t *testing.T) {
		_, err := w.Write(context.Background(), held.Ino, []byte(" more"), 3)
		require.NoError(t, err)
		s := w.Snapshot(nil, nil)
		require.Len(t, s.Strays, 1)
		assert.Equal(t, "/d/a", s.Strays[0].Path)
		w.Forget(held.Ino, 1)
		w.kill()
		s = w.Snapshot(nil, nil)
		require.Len(t, s.Strays, 1, "it survives a kill")
		applied, err := w.Apply([]Apply{{Place: DropFile, Ino: s.Strays[0].Ino, Gen: s.Strays[0].Gen, Loser: &Loser{Reason: "stray"}}})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, applied)
		assert.Empty(t, w.Snapshot(nil, nil).Strays)
		kept, err := w.Conflicts().List()
		require.NoError(t, err)
		require.Len(t, kept, 1)
		text, _, err := w.Conflicts().Text(kept[0].ID)
		require.NoError(t, err)
		assert.Equal(t, "old more", string(text))
	})
}

func TestApply_ChainsSwapsAndObstructions(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.base("a", "/a", "A"), w.base("b", "/b", "B"), w.base("c", "/c", "C")
	w.write("/local", "mine")
	step := func(b Base, to string) Apply {
		ino := w.ino(b.Path)
		b.Path = to
		return Apply{Place: MoveFile, ID: b.ID, Base: &b, Ino: ino}
	}
	applied, err := w.Apply([]Apply{step(a, "/b"), step(b, "/a"), step(c, "/local")})
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true, false}, applied, "what is in the way of a local file waits")
	assert.Equal(t, "B", w.read("/a"))
	assert.Equal(t, "A", w.read("/b"))
	assert.Equal(t, "C", w.read("/c"))
	assert.Equal(t, "mine", w.read("/local"))
	w.kill()
	assert.Equal(t, "B", w.read("/a"))
	s := w.Snapshot([]string{"a", "b"}, nil)
	assert.Equal(t, "a", s.Memories[1].Base.ID)
	assert.Equal(t, "/b", s.Memories[1].Carrier.Path)
}

func TestApply_FileBecomesDirectoryAndBack(t *testing.T) {
	w := newWorld(t)
	a := w.base("a", "/x", "file")
	deep := Base{ID: "b", Path: "/x/y/z", SHA: store.Hash([]byte("deep")), Size: 4, UpdatedAt: w.clock.now()}
	w.texts[deep.SHA] = "deep"
	applied, err := w.Apply([]Apply{{Place: PutFile, ID: "b", Base: &deep}, {Place: DropFile, ID: "a", Ino: w.ino("/x")}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, applied)
	assert.Equal(t, "deep", w.read("/x/y/z"))
	applied, err = w.Apply([]Apply{{Place: PutFile, ID: "a", Base: &a}, {Place: DropFile, ID: "b", Ino: w.ino("/x/y/z")}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, applied)
	assert.Equal(t, "file", w.read("/x"))
	w.kill()
	assert.Equal(t, "file", w.read("/x"))
}

func TestR9_EmptiedDirectoriesGoUnlessMadeHere(t *testing.T) {
	w := newWorld(t)
	w.base("a", "/remote/deep/f", "1")
	_, err := w.Mkdir(Root, "mine", 0o700, 0, 0)
	require.NoError(t, err)
	w.base("b", "/mine/f", "2")
	applied, err := w.Apply([]Apply{{Place: DropFile, ID: "a", Ino: w.ino("/remote/deep/f")}, {Place: DropFile, ID: "b", Ino: w.ino("/mine/f")}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, applied)
	assert.Equal(t, []string{"mine"}, w.names(Root))
}

func TestR16_EmptiedFileIsACutOffSave(t *testing.T) {
	w := newWorld(t)
	ctx, zero := context.Background(), int64(0)
	w.base("a", "/sent", "in the store")
	w.base("b", "/synced", "in the store too")
	unsent := w.write("/unsent", "only here")
	for _, path := range []string{"/sent", "/synced"} {
		_, err := w.Setattr(ctx, w.ino(path), SetAttr{Size: &zero})
		require.NoError(t, err)
	}
	_, err := w.Setattr(ctx, unsent, SetAttr{Size: &zero})
	require.NoError(t, err)
	require.NoError(t, w.Fsync(w.ino("/synced")))
	w.kill()
	assert.Equal(t, "in the store", w.read("/sent"))
	assert.Equal(t, "only here", w.read("/unsent"))
	assert.Empty(t, w.read("/synced"), "fsync of the empty file means it")
}

func TestR11_TooLargeIsCutAndHeld(t *testing.T) {
	w := newWorld(t)
	a, err := w.Create(Root, "big", 0o600, 0, 0)
	require.NoError(t, err)
	n, err := w.Write(context.Background(), a.Ino, make([]byte, store.MaxContent+1), 0)
	require.NoError(t, err)
	assert.Equal(t, store.MaxContent, n)
	_, err = w.Write(context.Background(), a.Ino, []byte("x"), store.MaxContent)
	require.ErrorIs(t, err, ErrFileTooLarge)
	s := w.Snapshot(nil, nil)
	require.Len(t, s.Files, 1)
	assert.True(t, s.Files[0].Failed)
	w.write("/big", "small")
	assert.False(t, w.Snapshot(nil, nil).Files[0].Failed)
}

func TestR17_ScratchIsLocalUnlessTheStoreHoldsIt(t *testing.T) {
	w := newWorld(t)
	w.write("/.git/objects/aa/bb", "object")
	w.write("/notes~", "backup")
	assert.Empty(t, w.Snapshot(nil, nil).Files)
	w.base("m", "/held~", "the store has it")
	w.write("/held~", "edited")
	require.Len(t, w.Snapshot(nil, nil).Memories, 1)
	i, err := w.Inspect(w.ino("/notes~"))
	require.NoError(t, err)
	assert.Equal(t, Scratch, i.State)
}

func TestCheckpoint_KeepsStateAndSize(t *testing.T) {
	w := newWorld(t)
	w.base("m", "/m", "base text")
	for i := range 200 {
		w.write("/log", string(make([]byte, 1000))+time.Duration(i).String())
	}
	before := w.journal.Size()
	require.NoError(t, w.Checkpoint())
	assert.Less(t, w.journal.Size(), before/4)
	w.write("/after", "x")
	w.kill()
	assert.Equal(t, "base text", w.read("/m"))
	assert.Equal(t, "199ns", w.read("/log")[1000:])
	assert.Equal(t, "x", w.read("/after"))
	assert.Len(t, w.Snapshot(nil, nil).Files, 2)
}

func TestR19_RemoveLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.base("m", "/m", "text")
	w.write("/n", "text")
	require.NoError(t, w.Remove())
	left, err := os.ReadDir(w.o.Dir + "/replicas")
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestOpen_OnlyOnce(t *testing.T) {
	w := newWorld(t)
	_, err := Open(w.o)
	require.ErrorIs(t, err, ErrInUse)
}

func TestR6_TheIdStaysWithWhatIsSavedAndThenMoved(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"saved by rename":              func(w *world) { w.write("/.agenttoolset-1", "new"); w.mv("/.agenttoolset-1", "/a") },
		"removed and made again":       func(w *world) { w.rm("/a"); w.write("/a", "new") },
		"removed and put in its place": func(w *world) { w.write("/x", "new"); w.rm("/a"); w.mv("/x", "/a") },
		"moved, then saved by rename":  func(w *world) { w.mv("/a", "/y"); w.write("/x", "new"); w.mv("/x", "/y"); w.mv("/y", "/a") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.base("m1", "/a", "text")
			change(w)
			w.mv("/a", "/b")
			for range 2 {
				s := w.Snapshot(nil, nil)
				require.Len(t, s.Memories, 1)
				assert.Nil(t, s.Memories[0].At)
				require.NotNil(t, s.Memories[0].Carrier)
				assert.Equal(t, "/b", s.Memories[0].Carrier.Path)
				assert.Equal(t, "new", w.read("/b"))
				w.kill()
			}
		})
	}
}
