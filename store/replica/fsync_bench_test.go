package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

// BenchmarkFsync writes and syncs, in turn on a replica and on a plain file of
// the same filesystem, and reports the medians and their ratio.
func BenchmarkFsync(b *testing.B) {
	text := make([]byte, 4096)
	b.Run("overwrite", func(b *testing.B) {
		r, dir := onDisk(b)
		a, err := r.Create(Root, "f", 0o600, 0, 0)
		require.NoError(b, err)
		f, err := os.Create(filepath.Join(dir, "f"))
		require.NoError(b, err)
		defer f.Close()
		compare(b, func(int) {
			_, err := r.Write(context.Background(), a.Ino, text, 0)
			require.NoError(b, err)
			require.NoError(b, r.Fsync(a.Ino))
		}, func(int) {
			_, err := f.WriteAt(text, 0)
			require.NoError(b, err)
			require.NoError(b, f.Sync())
		})
	})
	b.Run("create", func(b *testing.B) {
		r, dir := onDisk(b)
		compare(b, func(i int) {
			a, err := r.Create(Root, fmt.Sprint(i), 0o600, 0, 0)
			require.NoError(b, err)
			_, err = r.Write(context.Background(), a.Ino, text, 0)
			require.NoError(b, err)
			require.NoError(b, r.Fsync(a.Ino))
			r.Forget(a.Ino, 1)
		}, func(i int) {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
			require.NoError(b, err)
			_, err = f.Write(text)
			require.NoError(b, err)
			require.NoError(b, f.Sync())
			require.NoError(b, f.Close())
		})
	})
}

func onDisk(b *testing.B) (r *Replica, dir string) {
	dir = b.TempDir()
	state := filepath.Join(dir, "state")
	r, err := Open(Options{Dir: state, Store: store.Info{ID: "memstore_bench"}, MountPath: "/m", MaxMemories: 1 << 30})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, r.Close()) })
	return r, dir
}

// compare runs both in turn, so that both meet the same disk.
func compare(b *testing.B, replica, file func(i int)) {
	var took [2][]time.Duration
	i := 0
	for b.Loop() {
		for k, f := range []func(int){replica, file} {
			began := time.Now()
			f(i)
			took[k] = append(took[k], time.Since(began))
		}
		i++
	}
	var median [2]float64
	for k := range took {
		slices.Sort(took[k])
		median[k] = float64(took[k][len(took[k])/2].Microseconds())
	}
	b.ReportMetric(median[0], "replica-µs")
	b.ReportMetric(median[1], "file-µs")
	b.ReportMetric(median[0]/median[1], "ratio")
}
