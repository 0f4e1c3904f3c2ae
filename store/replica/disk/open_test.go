package disk_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

func open(t *testing.T, path string, hook disk.Hook) *disk.Dir {
	t.Helper()
	d, err := disk.Open(path, hook)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestOpenMakesTheDirectoryAndItsParents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, path, nil)
	assert.Equal(t, path, d.Path())
	assert.Equal(t, fs.FileMode(0o700), mode(t, path))
	assert.Equal(t, fs.FileMode(0o700), mode(t, filepath.Dir(path)))
	open(t, path, nil) // again, now that it is there
}

func TestR3_ADirectorysNameIsDurable(t *testing.T) {
	faults := new(disktest.Faults)
	path := filepath.Join(t.TempDir(), "state")
	for range 2 { // once made, and once found: its maker may not have come to it
		faults.Reset()
		d := open(t, path, faults.Hook)
		sub, err := d.Sub("sub")
		require.NoError(t, err)
		require.NoError(t, sub.Close())
		var synced []string
		for _, op := range faults.Seen("dir.open", disk.KindSync) {
			synced = append(synced, op.Dir)
		}
		assert.Equal(t, []string{filepath.Dir(path), path}, synced)
	}
	faults.Add(disktest.Rule{Label: "dir.open", Kind: disk.KindSync, Fault: disk.Fault{Err: syscall.EIO}})
	_, err := disk.Open(path, faults.Hook)
	assert.ErrorIs(t, err, syscall.EIO)
}

// The umask belongs to the whole process, so each case runs in a child.
func TestR18_ModesUnderAnyUmask(t *testing.T) {
	if root := os.Getenv("DISK_TEST_UMASK_ROOT"); root != "" {
		makeEverything(t, root)
		return
	}
	for _, umask := range []string{"000", "002", "022", "077", "777"} {
		t.Run(umask, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "state")
			child := exec.Command("sh", "-c", `umask "$1"; exec "$2" -test.run '^TestR18_ModesUnderAnyUmask$'`, "sh", umask, os.Args[0])
			child.Env = append(os.Environ(), "DISK_TEST_UMASK_ROOT="+root, "GORACE=atexit_sleep_ms=0")
			out, err := child.CombinedOutput()
			require.NoError(t, err, "%s", out)
			for _, dir := range []string{"", "sub"} {
				assert.Equal(t, fs.FileMode(0o700), mode(t, filepath.Join(root, dir)), dir)
			}
			for _, file := range []string{"created", "written", "lock"} {
				assert.Equal(t, fs.FileMode(0o600), mode(t, filepath.Join(root, "sub", file)), file)
			}
		})
	}
}

func makeEverything(t *testing.T, root string) {
	sub, err := open(t, root, nil).Sub("sub")
	require.NoError(t, err)
	f, err := sub.Create("test", "created")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, sub.WriteFile("test", "written", []byte("x"), true))
	lock, err := sub.Lock("lock")
	require.NoError(t, err)
	require.NoError(t, lock.Release())
	require.NoError(t, sub.Close())
}

func TestR18_OpenRefusesUnsafeDirectories(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, path string)
		problem string
	}{
		{"group may read", func(t *testing.T, path string) { mkdir(t, path, 0o740) }, "mode 0740"},
		{"others may search", func(t *testing.T, path string) { mkdir(t, path, 0o701) }, "mode 0701"},
		{"group may write", func(t *testing.T, path string) { mkdir(t, path, 0o720) }, "mode 0720"},
		{"a symbolic link", func(t *testing.T, path string) {
			mkdir(t, path+".target", 0o700)
			require.NoError(t, os.Symlink(path+".target", path))
		}, "symbolic link"},
		{"a link that leads nowhere", func(t *testing.T, path string) {
			require.NoError(t, os.Symlink("nowhere", path))
		}, "symbolic link"},
		{"a file", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}, "a file"},
		{"somebody else's", func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory away")
			}
			mkdir(t, path, 0o700)
			require.NoError(t, os.Chown(path, 12345, -1))
		}, "belongs to uid 12345"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "parent")
			path := filepath.Join(parent, "dir")
			d := open(t, parent, nil)
			test.prepare(t, path)
			_, errSub := d.Sub("dir")
			_, errOpen := disk.Open(path, nil)
			for _, err := range []error{errSub, errOpen} {
				var unsafe *disk.UnsafeError
				require.ErrorAs(t, err, &unsafe)
				assert.Equal(t, path, unsafe.Path)
				assert.Contains(t, unsafe.Problem, test.problem)
				assert.NotEmpty(t, unsafe.Remedy)
				assert.True(t, strings.HasPrefix(err.Error(), path), err)
			}
		})
	}
}

// R18: a directory that memfs may not make or write is as little of use as one
// that is open to others, and said the same way.
func TestR18_ADirectoryThatCannotBeWrittenIsRefused(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		for name, dir := range map[string]string{"itself": "state", "a parent": "missing/state"} {
			path := filepath.Join(t.TempDir(), dir)
			_, err := disk.Open(path, func(op disk.Op) disk.Fault {
				if op.Kind == disk.KindMkdir {
					return disk.Fault{Err: errno}
				}
				return disk.Fault{}
			})
			var unsafe *disk.UnsafeError
			require.ErrorAs(t, err, &unsafe, name)
			assert.Equal(t, path, unsafe.Path)
			assert.NotEmpty(t, unsafe.Remedy)
			assert.ErrorIs(t, err, errno)
		}
	}
}

func mkdir(t *testing.T, path string, mode fs.FileMode) {
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.Chmod(path, mode))
}

func TestNamesAreSingleComponents(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "state"), nil)
	for _, name := range []string{"", ".", "..", "a/b", "/a", "../state", "a/"} {
		_, err := d.Create("test", name)
		assert.ErrorIs(t, err, syscall.EINVAL, name)
		_, err = d.OpenFile("test", name, false)
		assert.ErrorIs(t, err, syscall.EINVAL, name)
		_, err = d.Sub(name)
		assert.ErrorIs(t, err, syscall.EINVAL, name)
		_, err = d.Stat("test", name)
		assert.ErrorIs(t, err, syscall.EINVAL, name)
		assert.ErrorIs(t, d.Remove("test", name), syscall.EINVAL, name)
		assert.ErrorIs(t, d.Rename("test", "a", name), syscall.EINVAL, name)
		assert.ErrorIs(t, d.Rename("test", name, "a"), syscall.EINVAL, name)
	}
}

func TestADirectoryRemovedUnderUsIsMadeAnew(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	d := open(t, root, nil)
	sub, err := d.Sub("sub")
	require.NoError(t, err)
	defer func() { assert.NoError(t, sub.Close()) }()
	require.NoError(t, os.RemoveAll(root))

	require.NoError(t, sub.WriteFile("test", "file", []byte("text"), true))
	content, err := os.ReadFile(filepath.Join(root, "sub", "file"))
	require.NoError(t, err)
	assert.Equal(t, "text", string(content))
	assert.Equal(t, fs.FileMode(0o700), mode(t, root))
	require.NoError(t, d.WriteFile("test", "file", nil, false))
}

func TestADirectoryReplacedUnderUsIsCheckedAgain(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	d := open(t, root, nil)
	require.NoError(t, os.RemoveAll(root))
	elsewhere := t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, root))

	err := d.WriteFile("test", "file", []byte("text"), false)
	var unsafe *disk.UnsafeError
	require.ErrorAs(t, err, &unsafe)
	entries, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// R18: a file that is somebody else's by another name is not written to.
func TestR18_HardLinksAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d, err := disk.Open(path, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	theirs := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.WriteFile(theirs, []byte("theirs"), 0o600))
	require.NoError(t, os.Link(theirs, filepath.Join(path, "lock")))
	var unsafe *disk.UnsafeError
	_, err = d.Lock("lock")
	require.ErrorAs(t, err, &unsafe)
	_, err = d.OpenFile("test", "lock", false)
	require.ErrorAs(t, err, &unsafe)
	text, err := os.ReadFile(theirs)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(text))
}
