//go:build linux

package fs

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
)

func TestReadWriteTruncateAppend(t *testing.T) {
	m := newMount(t, map[string]string{"/notes.md": "remote text\n"})

	assert.Equal(t, "remote text\n", m.read("notes.md"))
	m.write("notes.md", "short\n") // O_TRUNC, though no open reaches memfs
	assert.Equal(t, "short\n", m.read("notes.md"))
	assert.EqualValues(t, 6, m.stat("notes.md").Size)

	f, err := os.OpenFile(m.at("notes.md"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	for range 3 {
		_, err = f.WriteString("more\n")
		require.NoError(t, err)
	}
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	assert.Equal(t, "short\nmore\nmore\nmore\n", m.read("notes.md"))

	require.NoError(t, os.Truncate(m.at("notes.md"), 3))
	require.NoError(t, os.Truncate(m.at("notes.md"), 6))
	assert.Equal(t, "sho\x00\x00\x00", m.read("notes.md"))

	_, err = os.OpenFile(m.at("notes.md"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	assert.ErrorIs(t, err, syscall.EEXIST)
	require.NoError(t, os.Remove(m.at("notes.md")))
	assert.NoFileExists(t, m.at("notes.md"))
}

func TestAppendFromManyWriters(t *testing.T) {
	m := newMount(t, nil)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			f, err := os.OpenFile(m.at("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
			if !assert.NoError(t, err) {
				return
			}
			defer f.Close()
			for range 100 {
				_, err := f.WriteString(strings.Repeat(string(rune('a'+w)), 9) + "\n")
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	lines := strings.Split(strings.TrimSuffix(m.read("log"), "\n"), "\n")
	require.Len(t, lines, 400)
	for _, line := range lines {
		assert.Equal(t, strings.Repeat(line[:1], 9), line, "lines mixed")
	}
}

func TestOpenFileOutlivesItsName(t *testing.T) {
	m := newMount(t, nil)
	f, err := os.Create(m.at("a"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Remove(m.at("a")))

	_, err = f.WriteString("still here")
	require.NoError(t, err)
	text := make([]byte, 20)
	n, err := f.ReadAt(text, 0)
	assert.ErrorIs(t, err, io.EOF)
	assert.Equal(t, "still here", string(text[:n]))
	var stat unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &stat))
	assert.EqualValues(t, 0, stat.Nlink)
	assert.EqualValues(t, 10, stat.Size)
}

func TestSharedMapping(t *testing.T) {
	m := newMount(t, map[string]string{"/page": strings.Repeat("x", 5000)})
	f, err := os.OpenFile(m.at("page"), os.O_RDWR, 0)
	require.NoError(t, err)
	page, err := unix.Mmap(int(f.Fd()), 0, 5000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	copy(page[4096:], "mapped")
	require.NoError(t, unix.Msync(page, unix.MS_SYNC))
	require.NoError(t, unix.Munmap(page))
	require.NoError(t, f.Close())
	text := m.read("page")
	assert.Equal(t, "mapped", text[4096:4102])
	assert.Len(t, text, 5000)
}

func TestR11_TooLargeIsShortThenEFBIG(t *testing.T) {
	m := newMount(t, nil)
	f, err := os.Create(m.at("big"))
	require.NoError(t, err)
	defer f.Close()
	fd := int(f.Fd())

	n, err := unix.Pwrite(fd, bytes.Repeat([]byte("x"), store.MaxContent+10), 0)
	require.NoError(t, err)
	assert.Equal(t, store.MaxContent, n)
	_, err = unix.Pwrite(fd, []byte("x"), store.MaxContent)
	assert.ErrorIs(t, err, unix.EFBIG)
	assert.ErrorIs(t, unix.Ftruncate(fd, store.MaxContent+1), unix.EFBIG)
	assert.Len(t, m.read("big"), store.MaxContent)
}

func TestMetadataIsKept(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	when := time.Date(2010, 2, 3, 4, 5, 6, 7, time.UTC)
	require.NoError(t, os.Chtimes(m.at("a"), when, when))
	require.NoError(t, os.Chmod(m.at("a"), 0o640))
	require.NoError(t, os.Chown(m.at("a"), os.Getuid(), os.Getgid()))
	info, err := os.Stat(m.at("a"))
	require.NoError(t, err)
	assert.True(t, info.ModTime().Equal(when))
	assert.Equal(t, os.FileMode(0o640), info.Mode())
	stat := m.stat("a")
	assert.EqualValues(t, 1, stat.Blocks)
	assert.EqualValues(t, 1, stat.Nlink)

	before := mtime(stat)
	m.write("a", "other")
	assert.Less(t, before, mtime(m.stat("a")), "a write moves mtime")
}

func TestBirthTime(t *testing.T) {
	m := newMount(t, nil)
	before := time.Now().Add(-time.Second)
	m.write("a", "text")
	var stat unix.Statx_t
	require.NoError(t, unix.Statx(unix.AT_FDCWD, m.at("a"), 0, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &stat))
	require.NotZero(t, stat.Mask&unix.STATX_BTIME)
	assert.WithinRange(t, time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec)), before, time.Now())
	assert.EqualValues(t, 4, stat.Size)
	assert.Equal(t, m.stat("a").Ino, stat.Ino)
}

// TestNoEINTR: Go's runtime signals its own threads to preempt goroutines, and
// each signal that meets a request is an interrupt to the filesystem.
func TestNoEINTR(t *testing.T) {
	m := newMount(t, nil)
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Kill(os.Getpid(), unix.SIGURG)
			}
		}
	})
	defer func() { close(stop); storm.Wait() }()

	// Raw calls, since package os tries again after EINTR.
	for range 300 {
		fd, err := unix.Open(m.at("a"), unix.O_CREAT|unix.O_RDWR, 0o644)
		require.NoError(t, err)
		_, err = unix.Pwrite(fd, []byte("text"), 0)
		require.NoError(t, err)
		require.NoError(t, unix.Ftruncate(fd, 2))
		_, err = unix.Pread(fd, make([]byte, 4), 0)
		require.NoError(t, err)
		require.NoError(t, unix.Fsync(fd))
		require.NoError(t, unix.Close(fd))
		require.NoError(t, unix.Mkdir(m.at("d"), 0o755))
		require.NoError(t, unix.Rename(m.at("a"), m.at("d/a")))
		require.NoError(t, unix.Unlink(m.at("d/a")))
		require.NoError(t, unix.Rmdir(m.at("d")))
	}
}

// A time that cannot be kept becomes the nearest that can.
func TestTimesOutOfRange(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	for year, want := range map[int]int{1500: 1678, 1969: 1969, 2261: 2261, 2300: 2262, 9999: 2262} {
		at := unix.Timespec{Sec: time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC).Unix()}
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, m.at("a"), []unix.Timespec{at, at}, 0))
		stat := m.stat("a")
		assert.Equal(t, want, time.Unix(stat.Mtim.Unix()).UTC().Year(), year)
	}
}
