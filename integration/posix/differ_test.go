//go:build linux

package posix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
)

// TestDifferential does one stream of random calls on a mount and on a
// directory of this host's disk, and compares what each call returns. Passes go
// on meanwhile, and nobody may notice.
func TestDifferential(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{AllowMassDelete: true})
	d := newDiffer(t, diskDir(t), m.Path)
	end := keepSyncing(t, m)
	for range 12_000 {
		d.step()
	}
	end()
	d.closeAll()
	want := map[string]string{}
	require.NoError(t, filepath.WalkDir(d.disk.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		want[strings.TrimPrefix(path, filepath.Dir(d.disk.root))] = string(text)
		return err
	}))
	m.Sync()
	require.Equal(t, want, m.Texts(), "what the store has")
	t.Log("calls and how often they succeeded: ", d.counts)
}

// diskDir is a directory of a filesystem that counts a directory's links, which
// those of containers often do not.
func diskDir(t *testing.T) string {
	dir := t.TempDir()
	var stat unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &stat))
	switch stat.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return dir
	}
	dir, err := os.MkdirTemp("/dev/shm", "memfs-test-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// keepSyncing makes passes until end is called, or the test has ended.
func keepSyncing(t *testing.T, m *mounttest.Mount) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				assert.Empty(t, m.SyncError())
			}
		}
	}()
	end = sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
	t.Cleanup(end)
	return end
}

// side is one of the two directories, with what is open in it.
type side struct {
	root  string
	files []handle
}

type handle struct {
	fd  int
	ino uint64
}

func (s *side) at(path string) string { return s.root + "/" + path }

func (s *side) open() int { return len(s.files) }

// call is one system call: do returns its result, as text. differ is set where
// a mount may answer another way than a disk; it gives the mount's only right
// answer.
type call struct {
	kind, what string
	do         func(*side) string
	differ     func(disk string) string
}

// differ compares two sides.
type differ struct {
	t           *testing.T
	disk, mount *side
	dice        dice
	journal     journal
	counts      map[string]string
	good, bad   map[string]int
	steps       int
}

func newDiffer(t *testing.T, disk, mount string) *differ {
	d := &differ{t: t, disk: &side{root: filepath.Join(disk, "root")}, mount: &side{root: filepath.Join(mount, "root")}, dice: roll(t),
		counts: map[string]string{}, good: map[string]int{}, bad: map[string]int{}}
	t.Cleanup(d.closeAll)
	require.NoError(t, os.Mkdir(d.disk.root, 0o755))
	require.NoError(t, os.Mkdir(d.mount.root, 0o755))
	return d
}

func (d *differ) closeAll() {
	for _, s := range []*side{d.disk, d.mount} {
		for s.open() > 0 {
			assert.NoError(d.t, unix.Close(s.files[0].fd))
			s.files = s.files[1:]
		}
	}
}

func (d *differ) step() { d.run(d.random()) }

// run does a call on both sides.
func (d *differ) run(c call) {
	d.t.Helper()
	d.steps++
	want := c.do(d.disk)
	got := c.do(d.mount)
	d.journal.add("%s %s: %.200s", c.kind, c.what, want)
	if c.differ != nil {
		want = c.differ(want)
	}
	if want != got {
		require.FailNow(d.t, "the mount differs", "call %d, %s %s:\ndisk:  %s\nmount: %s\n%s", d.steps, c.kind, c.what, want, got, &d.journal)
	}
	if failed(got) {
		d.bad[c.kind]++
	} else {
		d.good[c.kind]++
	}
	d.counts[c.kind] = fmt.Sprintf("%d/%d", d.good[c.kind], d.good[c.kind]+d.bad[c.kind])
}

// result is a call's errno, or what it returned.
func result(err error, values ...any) string {
	var errno unix.Errno
	switch {
	case errors.As(err, &errno):
		return errorMark + unix.ErrnoName(errno)
	case err != nil:
		return errorMark + err.Error()
	}
	return fmt.Sprint(values...)
}

const errorMark = "error "

func failed(result string) bool {
	return len(result) > len(errorMark) && result[:len(errorMark)] == errorMark
}

// refused is the mount's answer where a disk may succeed: always this errno,
// but for an errno that the kernel finds before it asks the filesystem.
func refused(errno unix.Errno) func(disk string) string {
	return func(disk string) string {
		if failed(disk) {
			return disk
		}
		return errorMark + unix.ErrnoName(errno)
	}
}
