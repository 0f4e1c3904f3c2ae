package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica/disk"
)

// faults counts the file operations of a replica and makes one of them, and
// perhaps all after it, go wrong.
type faults struct {
	mu    sync.Mutex
	seen  []disk.Op
	at    int // index of the operation that goes wrong; -1 none
	fault disk.Fault
	// die: nothing reaches the disk any more from then on, as if the process
	// had been killed before (or after) that operation.
	die, after bool
	dead       bool
}

var errDead = errors.New("the process is dead")

func (f *faults) hook(op disk.Op) disk.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return disk.Fault{Err: errDead}
	}
	op.Data = nil
	f.seen = append(f.seen, op)
	if len(f.seen)-1 != f.at {
		return disk.Fault{}
	}
	if !f.die {
		return f.fault
	}
	f.dead = true
	if f.after {
		return disk.Fault{}
	}
	return disk.Fault{Err: errDead}
}

// promises is what a workload may rely on: for each file the texts that may be
// found after a restart. Until a change is acknowledged both the text before
// and the one after are allowed.
type promises map[string][]string

const absent = "\x00absent"

func (p promises) attempt(path string, next ...string) { p[path] = append(p[path], next...) }
func (p promises) done(path, text string)              { p[path] = []string{text} }

// workload is a fixed story with everything that a replica does in it.
type workload struct {
	w *world
	p promises
}

func (l *workload) write(path, text string) {
	// Truncate and write are two calls: the empty file between them is a cut
	// save, so the text before stands.
	if len(l.p[path]) == 0 {
		l.p.done(path, absent)
	}
	if slices.Contains(l.p[path], absent) {
		l.p.attempt(path, "") // made and not yet written
	}
	l.p.attempt(path, text)
	dir, name := Root, path[1:]
	a, err := l.w.Lookup(dir, name)
	if errors.Is(err, ErrNotExist) {
		a, err = l.w.Create(dir, name, 0o600, 0, 0)
	}
	if err != nil {
		return
	}
	defer l.w.Forget(a.Ino, 1)
	zero := int64(0)
	if _, err := l.w.Setattr(context.Background(), a.Ino, SetAttr{Size: &zero}); err != nil {
		return
	}
	n, err := l.w.Write(context.Background(), a.Ino, []byte(text), 0)
	switch {
	case err == nil && n == len(text):
		l.p.done(path, text)
	default:
		// Not acknowledged: the emptied file is what the caller has now.
		l.p.attempt(path, "")
	}
}

func (l *workload) remove(path string) {
	l.p.attempt(path, absent)
	l.w.see(Root, path[1:])
	if err := l.w.Unlink(Root, path[1:]); err == nil {
		l.p.done(path, absent)
	}
}

func (l *workload) rename(from, to string) {
	texts := slices.Clone(l.p[from])
	l.p.attempt(from, absent)
	l.p.attempt(to, append(texts, absent)...)
	l.w.see(Root, from[1:])
	l.w.see(Root, to[1:])
	if err := l.w.Rename(Root, from[1:], Root, to[1:], false); err == nil {
		l.p.done(from, absent)
		l.p[to] = texts
	}
}

func (l *workload) fsync() {
	if ino, err := l.w.Lookup(Root, "a"); err == nil {
		_ = l.w.Fsync(ino.Ino)
		l.w.Forget(ino.Ino, 1)
	}
}

// settle sends /a and hears that it arrived.
func (l *workload) settle() {
	s := l.w.Snapshot(nil, nil)
	for _, f := range s.Files {
		if f.Path != "/a" || f.SHA.IsZero() {
			continue
		}
		seq, err := l.w.BeginSend(Send{Op: OpCreate, Path: f.Path, SHA: f.SHA, Ino: f.Ino})
		if err != nil {
			continue
		}
		b := Base{ID: "mem_a", Path: f.Path, SHA: f.SHA, Size: f.Size, UpdatedAt: s.Time, CreatedAt: s.Time}
		_ = l.w.Settle(seq, &Apply{ID: b.ID, Base: &b, Ino: f.Ino})
	}
}

// conflict lets the store win over /c, whose text is kept.
func (l *workload) conflict() {
	a, err := l.w.Lookup(Root, "c")
	if err != nil {
		return
	}
	defer l.w.Forget(a.Ino, 1)
	text := "the store's text"
	b := Base{ID: "mem_c", Path: "/c", SHA: store.Hash([]byte(text)), Size: int64(len(text)), UpdatedAt: l.w.clock.now(), CreatedAt: l.w.clock.now()}
	l.p.attempt("/c", text)
	if err := l.w.PutContent(b.SHA, []byte(text)); err != nil {
		return
	}
	applied, err := l.w.Apply([]Apply{{Place: PutFile, ID: b.ID, Base: &b, Ino: a.Ino, Loser: &Loser{Reason: "create"}}})
	if err == nil && applied[0] {
		l.p.done("/c", text)
	}
}

func (l *workload) run() {
	l.write("/a", "first text of a")
	l.write("/b", "first text of b")
	l.write("/c", "first text of c")
	l.settle()
	l.write("/a", "second, longer text of a")
	l.fsync()
	l.rename("/b", "/d")
	l.conflict()
	_ = l.w.Checkpoint()
	l.write("/a", "third")
	l.write("/e", strings.Repeat("long ", 2000))
	l.remove("/d")
	l.fsync()
	l.write("/b", "b again")
}

// check opens the replica as after a restart and compares.
func (l *workload) check(t *testing.T, name string) {
	l.w.o.Hook = nil
	r, err := Open(l.w.o)
	require.NoError(t, err, name)
	l.w.Replica = r
	for path, allowed := range l.p {
		got := absent
		if a, err := r.Lookup(Root, path[1:]); err == nil {
			p := make([]byte, 64<<10)
			n, err := r.Read(context.Background(), a.Ino, p, 0)
			require.NoError(t, err, "%s: read %s", name, path)
			got = string(p[:n])
			r.Forget(a.Ino, 1)
		}
		assert.Contains(t, allowed, got, "%s: %s", name, path)
	}
	assert.True(t, r.Snapshot(nil, nil).MarkerOK, name)
	require.NoError(t, r.Remove())
}

// memoryDir is a directory in memory where there is one: thousands of syncs to
// a disk would take minutes and prove nothing more.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "memfs-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func runFaulty(t *testing.T, top, name string, f *faults) []disk.Op {
	dir := filepath.Join(top, strings.NewReplacer("/", "_", " ", "_").Replace(name))
	require.NoError(t, os.Mkdir(dir, 0o700))
	w := &world{t: t, clock: newClock(), texts: map[store.SHA]string{}}
	w.o = Options{Dir: dir, Store: store.Info{ID: "memstore_test"}, Endpoint: "e", MountPath: "/m", Now: w.clock.now, Hook: f.hook}
	l := &workload{w: w, p: promises{}}
	r, err := Open(w.o)
	if err == nil {
		w.Replica = r
		l.run()
		_ = r.shut()
	}
	l.check(t, name)
	return f.seen
}

// TestR16_EveryFileOperationMayFail fails each file operation of the workload
// in turn, in each way, and kills before and after each.
func TestR16_EveryFileOperationMayFail(t *testing.T) {
	top := memoryDir(t)
	ops := runFaulty(t, top, "none", &faults{at: -1})
	require.Greater(t, len(ops), 50)
	ways := map[string]*faults{
		"EIO":         {fault: disk.Fault{Err: syscall.EIO}},
		"ENOSPC":      {fault: disk.Fault{Err: syscall.ENOSPC}},
		"short write": {fault: disk.Fault{Err: syscall.ENOSPC, Short: 5}},
		"kill before": {die: true},
		"kill after":  {die: true, after: true},
	}
	for way, pattern := range ways {
		for i, op := range ops {
			if way == "short write" && op.Kind != disk.KindWrite {
				continue
			}
			f := &faults{at: i, fault: pattern.fault, die: pattern.die, after: pattern.after}
			runFaulty(t, top, fmt.Sprintf("%s at %d %s %s %s", way, i, op.Label, op.Kind, filepath.Base(op.Name)), f)
			if t.Failed() {
				return
			}
		}
	}
}

// onFillableDisk is a replica whose disk can be full: nothing can be made or written
// then.
func onFillableDisk(t *testing.T) (l *workload, full *atomic.Bool) {
	full = new(atomic.Bool)
	w := &world{t: t, clock: newClock(), texts: map[store.SHA]string{}}
	w.o = Options{Dir: filepath.Join(t.TempDir(), "state"), Store: store.Info{ID: "memstore_test"}, Endpoint: "e", MountPath: "/m", Now: w.clock.now}
	w.o.Hook = func(op disk.Op) disk.Fault {
		if full.Load() && (op.Kind == disk.KindWrite || op.Kind == disk.KindCreate) {
			return disk.Fault{Err: syscall.ENOSPC}
		}
		return disk.Fault{}
	}
	r, err := Open(w.o)
	require.NoError(t, err)
	w.Replica = r
	return &workload{w: w, p: promises{}}, full
}

// Where the disk is full at the end, the journal stays as long as it is, with
// all that is in it.
func TestR16_AnEndOnAFullDiskKeepsTheJournal(t *testing.T) {
	l, full := onFillableDisk(t)
	l.write("/a", "text of a")
	full.Store(true)
	require.NoError(t, l.w.Close())
	l.check(t, "full")
}

// What the last pass said of a file does not hide that a write failed since.
func TestR4_AWriteThatFailedSinceTheLastPassIsSeen(t *testing.T) {
	l, full := onFillableDisk(t)
	l.write("/a", "text of a")
	r, ino := l.w.Replica, l.w.ino("/a")
	files := r.Snapshot(nil, nil).Files
	require.Len(t, files, 1)
	r.SetState(ino, files[0].Gen, Dirty, "changed a moment ago")
	full.Store(true)
	_, err := r.Write(context.Background(), ino, []byte(strings.Repeat("x", 90_000)), 0)
	require.ErrorIs(t, err, syscall.ENOSPC)
	full.Store(false)
	seen, err := r.Inspect(ino)
	require.NoError(t, err)
	require.Equal(t, Held, seen.State)
	require.NoError(t, r.Remove())
}
