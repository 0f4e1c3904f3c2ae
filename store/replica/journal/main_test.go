package journal

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const name = "journal"

var header = Header{
	Store: "memstore_01", Endpoint: "https://api.example.com", MountPath: "/mnt/memory/notes", Session: "sesn_01",
	Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
}

func none(func([]byte) bool) {}

func payloads(texts ...string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, text := range texts {
			if !yield([]byte(text)) {
				return
			}
		}
	}
}

// numbered makes payloads of some sizes that can be told apart.
func numbered(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("record %d %0*d", i, random.IntN(50), 0)
	}
	return texts
}

// tempDir is a directory in memory where there is such a thing: these tests
// sync thousands of times, and it is not the disk that they try.
func tempDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	path, err := os.MkdirTemp(memory, "memfs-journal-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(path)) })
	return path
}

func openDir(t testing.TB, path string, hook disk.Hook) *disk.Dir {
	t.Helper()
	dir, err := disk.Open(path, hook)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	return dir
}

// create makes an empty journal in a new directory. It is closed at the end
// of the test; a broken one may say so.
func create(t testing.TB, hook disk.Hook, o Options) (*Journal, *disk.Dir) {
	t.Helper()
	dir := openDir(t, filepath.Join(tempDir(t), "state"), hook)
	j, err := Create(dir, name, header, none, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j, dir
}

func appendAll(t testing.TB, j *Journal, texts ...string) {
	t.Helper()
	for _, text := range texts {
		require.NoError(t, j.Append([]byte(text), false))
	}
}

// replay reads the journal in the directory, past any hook.
func replay(t testing.TB, path string) ([]string, Replay) {
	t.Helper()
	dir, err := disk.Open(path, nil)
	require.NoError(t, err)
	var texts []string
	r, err := Read(dir, name, func(payload []byte) error {
		texts = append(texts, string(payload))
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, dir.Close())
	require.Len(t, texts, r.Records)
	return texts, r
}

// requireReplay requires that the journal in the directory is clean and holds
// exactly texts.
func requireReplay(t testing.TB, dir *disk.Dir, texts ...string) {
	t.Helper()
	got, r := replay(t, dir.Path())
	require.True(t, slices.Equal(texts, got), "want %d records, got %d", len(texts), len(got))
	require.False(t, r.Damaged)
	require.Equal(t, header, r.Header)
}

func names(t testing.TB, dir *disk.Dir) []string {
	t.Helper()
	list, err := dir.List("test")
	require.NoError(t, err)
	return list
}

func checkpoint(j *Journal, texts ...string) error {
	return j.BeginCheckpoint().Commit(payloads(texts...))
}

// fail makes every operation of a label fail; times 0 is for ever.
func fail(f *disktest.Faults, label string, times int, err error) {
	f.Add(disktest.Rule{Label: label, Times: times, Fault: disk.Fault{Err: err}})
}
