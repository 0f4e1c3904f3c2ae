package reconcile

import (
	"context"
	"flag"
	"maps"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

func TestMain(m *testing.M) {
	// Random histories are cheap: look at many. The command line can ask for more.
	if err := flag.Set("rapid.checks", "3000"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// bench is a real replica and a fake store with a reconciler between them, in
// a bubble of test time.
type bench struct {
	*testing.T
	*fake
	rep  *replica.Replica
	rec  *Reconciler
	dir  string
	logs *observer.ObservedLogs
	o    Options
	ro   bool
	// onDisk sees the replica's file operations.
	onDisk disk.Hook
}

// withBench runs a test in a bubble of its own time.
func withBench(t *testing.T, set func(*bench), f func(*bench)) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, fake: newFake(), dir: dir}
		b.o.NoHydrate = true
		if set != nil {
			set(b)
		}
		b.start()
		defer func() { require.NoError(t, b.rep.Close()) }()
		f(b)
	})
}

// start opens the replica, as a new process would, and attaches.
func (b *bench) start() {
	b.open()
	require.NoError(b, b.rec.Attach(b.Context()))
	b.called()
}

func (b *bench) open() {
	core, logs := observer.New(zapcore.InfoLevel)
	b.logs = logs
	b.o.Log = zap.New(core)
	var err error
	b.rep, err = replica.Open(replica.Options{Dir: b.dir, Store: store.Info{ID: "memstore_1"}, Endpoint: "test", MountPath: "/m",
		ReadOnly: b.ro, Fetch: Fetcher(b.fake), Hook: b.onDisk})
	require.NoError(b, err)
	b.rec = New(b.rep, b.fake, b.o)
}

// restart ends the process and begins another.
func (b *bench) restart() {
	require.NoError(b, b.rep.Close())
	b.open()
	require.NoError(b, b.rec.Attach(b.Context()))
}

// sync is a pass that sends everything and must succeed.
func (b *bench) sync() Report {
	b.Helper()
	report, err := b.rec.Sync(b.Context(), false)
	require.NoError(b, err)
	return report
}

// timed is a pass of the loop, once everything is at rest.
func (b *bench) timed() (Report, error) {
	b.Helper()
	time.Sleep(time.Minute)
	return b.rec.Pass(b.Context(), PassOptions{})
}

// What a program does in the mount.

func (b *bench) lookup(p string) (replica.Attr, error) {
	at := replica.Attr{Ino: replica.Root, Dir: true}
	for name := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if name == "" {
			continue
		}
		next, err := b.rep.Lookup(at.Ino, name)
		if err != nil {
			return next, err
		}
		b.rep.Forget(next.Ino, 1)
		at = next
	}
	return at, nil
}

func (b *bench) dirOf(p string) replica.Ino {
	b.Helper()
	at := replica.Root
	for name := range strings.SplitSeq(strings.Trim(path.Dir(p), "/"), "/") {
		if name == "" {
			continue
		}
		attr, err := b.rep.Lookup(at, name)
		if err != nil {
			attr, err = b.rep.Mkdir(at, name, 0o755, 0, 0)
		}
		require.NoError(b, err)
		b.rep.Forget(attr.Ino, 1)
		at = attr.Ino
	}
	return at
}

func (b *bench) write(p, text string) replica.Ino {
	b.Helper()
	attr, err := b.lookup(p)
	if err != nil {
		attr, err = b.rep.Create(b.dirOf(p), path.Base(p), 0o644, 0, 0)
		require.NoError(b, err)
		b.rep.Forget(attr.Ino, 1)
	}
	var size int64
	_, err = b.rep.Setattr(b.Context(), attr.Ino, replica.SetAttr{Size: &size})
	require.NoError(b, err)
	_, err = b.rep.Write(b.Context(), attr.Ino, []byte(text), 0)
	require.NoError(b, err)
	return attr.Ino
}

func (b *bench) read(p string) string {
	b.Helper()
	attr, err := b.lookup(p)
	require.NoError(b, err)
	buf := make([]byte, attr.Size)
	n, err := b.rep.Read(b.Context(), attr.Ino, buf, 0)
	require.NoError(b, err)
	return string(buf[:n])
}

func (b *bench) rm(p string) {
	b.Helper()
	b.see(p)
	require.NoError(b, b.rep.Unlink(b.dirOf(p), path.Base(p)))
}

func (b *bench) mv(from, to string) {
	b.Helper()
	b.see(from, to)
	require.NoError(b, b.rep.Rename(b.dirOf(from), path.Base(from), b.dirOf(to), path.Base(to), false))
}

// see looks names up, as a kernel does before it changes them.
func (b *bench) see(paths ...string) {
	for _, p := range paths {
		_, _ = b.lookup(p) // it need not be there
	}
}

// tree is the mount, path to text, without the marker.
func (b *bench) tree() map[string]string {
	b.Helper()
	all := map[string]string{}
	b.walk(replica.Root, "", all)
	return all
}

func (b *bench) walk(dir replica.Ino, at string, all map[string]string) {
	entries, err := b.rep.ReadDir(dir, 0, 100_000)
	require.NoError(b, err)
	for _, e := range entries {
		switch p := at + "/" + e.Name; {
		case e.Attr.Dir:
			b.walk(e.Attr.Ino, p, all)
		case p != "/"+store.MarkerName:
			all[p] = b.read(p)
		}
	}
}

// shared is the mount without what is local only (R17).
func (b *bench) shared() map[string]string {
	b.Helper()
	all, inStore, scratch := b.tree(), b.texts(), replica.DefaultScratch()
	maps.DeleteFunc(all, func(p, _ string) bool {
		_, held := inStore[p]
		return !held && scratch.Match(p)
	})
	return all
}

// converged checks that mount and store are equal and nothing is left to do.
func (b *bench) converged() {
	b.Helper()
	require.Equal(b, b.texts(), b.shared())
	b.called()
	report := b.sync()
	require.Empty(b, changes(b.called()))
	require.Zero(b, report.Pulled)
	require.Empty(b, report.Unsent)
}

// losers are the texts of the conflict area.
func (b *bench) losers() []string {
	b.Helper()
	entries, err := b.rep.Conflicts().List()
	require.NoError(b, err)
	var texts []string
	for _, e := range entries {
		text, _, err := b.rep.Conflicts().Text(e.ID)
		require.NoError(b, err)
		texts = append(texts, string(text))
	}
	return texts
}

// warned counts the lines of a code.
func (b *bench) warned(code string) int {
	return b.logs.FilterField(zap.String("code", code)).Len()
}

func (b *bench) background(f func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	return func() { cancel(); <-done }
}
