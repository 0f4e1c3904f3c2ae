package journal

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

const recordSize = 4096

func benchJournal(b *testing.B) *Journal {
	dir := openDir(b, filepath.Join(b.TempDir(), "state"), nil)
	j, err := Create(dir, name, header, none, Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, j.Close()) })
	b.SetBytes(recordSize)
	return j
}

// shorten takes a checkpoint where the file becomes long, as a replica does.
func shorten(b *testing.B, j *Journal) {
	if j.Size() > 64<<20 {
		require.NoError(b, checkpoint(j))
	}
}

func BenchmarkAppend(b *testing.B) {
	j, record := benchJournal(b), make([]byte, recordSize)
	for b.Loop() {
		if err := j.Append(record, false); err != nil {
			b.Fatal(err)
		}
		shorten(b, j)
	}
}

func BenchmarkAppendSync(b *testing.B) {
	j, record := benchJournal(b), make([]byte, recordSize)
	for b.Loop() {
		if err := j.Append(record, false); err != nil {
			b.Fatal(err)
		}
		if err := j.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGroupCommit is the cost for each record where 16 append and sync
// at once.
func BenchmarkGroupCommit(b *testing.B) {
	j, record := benchJournal(b), make([]byte, recordSize)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if j.Append(record, false) != nil || j.Sync() != nil {
					b.Fail()
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(j.Stats().Syncs)/float64(b.N), "syncs/op")
}

// BenchmarkPlainAppendSync is what the others are measured against: a growing
// file, one write and one fdatasync a record.
func BenchmarkPlainAppendSync(b *testing.B) {
	dir := openDir(b, filepath.Join(b.TempDir(), "state"), nil)
	f, err := dir.Create("plain", "plain")
	require.NoError(b, err)
	defer func() { require.NoError(b, f.Close()) }()
	record := make([]byte, recordSize)
	b.SetBytes(recordSize)
	for end := int64(0); b.Loop(); end += recordSize {
		if _, err := f.WriteAt("plain", record, end); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync("plain"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is the cost of replaying a record.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state")
	dir := openDir(b, path, nil)
	j, err := Create(dir, name, header, none, Options{})
	require.NoError(b, err)
	record := make([]byte, recordSize)
	const records = 10_000
	for range records {
		require.NoError(b, j.Append(record, false))
	}
	require.NoError(b, j.Close())
	b.SetBytes(records * recordSize)
	for b.Loop() {
		r, err := Read(dir, name, func([]byte) error { return nil })
		require.NoError(b, err)
		require.Equal(b, records, r.Records)
	}
}
