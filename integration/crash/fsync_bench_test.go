//go:build linux

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFsync writes 4 KB and syncs, in turn on a mount and on the filesystem
// below its state directory, and reports the medians and their ratio.
func BenchmarkFsync(b *testing.B) {
	for _, way := range []string{"overwrite", "create"} {
		b.Run(way, func(b *testing.B) {
			h := newHost(b)
			h.args = []string{"--max-memories", "1000000"}
			h.start()
			plain := filepath.Join(h.dir, "plain")
			require.NoError(b, os.Mkdir(plain, 0o700))
			var took [2][]float64
			n := 0
			for b.Loop() {
				name := "f"
				if way == "create" {
					name = fmt.Sprint(n)
				}
				for i, dir := range []string{h.mnt, plain} {
					began := time.Now()
					writeSynced(b, filepath.Join(dir, name))
					took[i] = append(took[i], float64(time.Since(began).Nanoseconds())/1000)
				}
				n++
			}
			for i := range took {
				slices.Sort(took[i])
			}
			mount, below := took[0][n/2], took[1][n/2]
			b.ReportMetric(mount, "mount-µs")
			b.ReportMetric(below, "below-µs")
			b.ReportMetric(mount/below, "ratio")
		})
	}
}

func writeSynced(b *testing.B, path string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(b, err)
	_, err = f.Write(make([]byte, 4096))
	require.NoError(b, err)
	require.NoError(b, f.Sync())
	require.NoError(b, f.Close())
}
