package replica

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

// benchReplica is a replica with n memories in 50 directories.
func benchReplica(b *testing.B, n int) *Replica {
	b.Helper()
	r, err := Open(Options{Dir: b.TempDir() + "/state", Store: store.Info{ID: "memstore_bench"}, Endpoint: "bench", MountPath: "/m"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, r.Remove()) })
	applied, err := r.Apply(arrivals(n))
	require.NoError(b, err)
	require.Len(b, applied, n)
	return r
}

// arrivals are n memories new in the store.
func arrivals(n int) []Apply {
	set := make([]Apply, n)
	for i := range set {
		base := Base{ID: fmt.Sprintf("mem_%026d", i), VersionID: fmt.Sprintf("memver_%026d", i), Path: fmt.Sprintf("/topic-%02d/note-%05d.md", i%50, i),
			SHA: store.Hash(fmt.Append(nil, i)), Size: 4096, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		set[i] = Apply{Place: PutFile, ID: base.ID, Base: &base}
	}
	return set
}

func BenchmarkLookup(b *testing.B) {
	r := benchReplica(b, 2000)
	dir, err := r.Lookup(Root, "topic-07")
	require.NoError(b, err)
	for b.Loop() {
		if _, err := r.Lookup(dir.Ino, "note-00057.md"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOverwrite(b *testing.B) {
	r, text, zero := benchReplica(b, 100), make([]byte, 4096), int64(0)
	ctx := context.Background()
	a, err := r.Create(Root, "note.md", 0o600, 0, 0)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := r.Setattr(ctx, a.Ino, SetAttr{Size: &zero}); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Write(ctx, a.Ino, text, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	r, text := benchReplica(b, 100), make([]byte, 100)
	ctx := context.Background()
	a, err := r.Create(Root, "note.md", 0o600, 0, 0)
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		if _, err := r.Write(ctx, a.Ino, text, int64(i%1000*len(text))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSaveByRename is a new file that takes a memory's name.
func BenchmarkSaveByRename(b *testing.B) {
	r, text := benchReplica(b, 2000), make([]byte, 4096)
	ctx := context.Background()
	dir, err := r.Lookup(Root, "topic-07")
	require.NoError(b, err)
	for b.Loop() {
		a, err := r.Create(dir.Ino, "note.tmp", 0o600, 0, 0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Write(ctx, a.Ino, text, 0); err != nil {
			b.Fatal(err)
		}
		if err := r.Rename(dir.Ino, "note.tmp", dir.Ino, "note-00057.md", false); err != nil {
			b.Fatal(err)
		}
		r.Forget(a.Ino, 1)
	}
}

// BenchmarkApply is the first listing of a store.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{2000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r, err := Open(Options{Dir: b.TempDir() + "/state", Store: store.Info{ID: "memstore_bench"}, Endpoint: "bench", MountPath: "/m"})
				require.NoError(b, err)
				set := arrivals(n)
				b.StartTimer()
				if _, err := r.Apply(set); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				require.NoError(b, r.Remove())
				b.StartTimer()
			}
		})
	}
}

func BenchmarkWriteLarge(b *testing.B) {
	r, text, zero := benchReplica(b, 100), make([]byte, 100_000), int64(0)
	ctx := context.Background()
	a, err := r.Create(Root, "note.md", 0o600, 0, 0)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := r.Setattr(ctx, a.Ino, SetAttr{Size: &zero}); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Write(ctx, a.Ino, text, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStatus is what status and a pass that pulled ask for.
func BenchmarkStatus(b *testing.B) {
	r := benchReplica(b, 10_000)
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			if r.Status().Remote != 10_000 {
				b.Fatal()
			}
		}
	})
	b.Run("unfetched", func(b *testing.B) {
		for b.Loop() {
			if len(r.Unfetched(0)) != 10_000 {
				b.Fatal()
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			r.Snapshot(nil, nil)
		}
	})
	b.Run("checkpoint", func(b *testing.B) {
		for b.Loop() {
			if err := r.Checkpoint(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen is the start after a crash.
func BenchmarkOpen(b *testing.B) {
	o := Options{Dir: b.TempDir() + "/state", Store: store.Info{ID: "memstore_bench"}, Endpoint: "bench", MountPath: "/m"}
	r, err := Open(o)
	require.NoError(b, err)
	_, err = r.Apply(arrivals(10_000))
	require.NoError(b, err)
	require.NoError(b, r.Close())
	for b.Loop() {
		r, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		require.NoError(b, r.shut())
	}
}
