package mountpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/fs/mountpoint"
)

func dirs(t *testing.T) (state, root string) {
	t.Helper()
	state, root = filepath.Join(t.TempDir(), "state"), t.TempDir()
	return state, root
}

func TestR1_MakesAndRemovesItsOwnOnly(t *testing.T) {
	state, root := dirs(t)
	path := filepath.Join(root, "mnt", "memory", "notes")
	p, err := mountpoint.Take(state, path, false)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	require.NoError(t, p.Remove())
	assert.NoDirExists(t, filepath.Join(root, "mnt"))
	assert.DirExists(t, root)
}

func TestR1_RefusesWhatIsThere(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"directory":        func(p string) error { return os.Mkdir(p, 0o755) },
		"file":             func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"dangling link":    func(p string) error { return os.Symlink("/nowhere", p) },
		"filled directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			state, root := dirs(t)
			path := filepath.Join(root, "notes")
			require.NoError(t, make(path))
			_, err := mountpoint.Take(state, path, false)
			var taken *mountpoint.TakenError
			require.ErrorAs(t, err, &taken)
			assert.Contains(t, err.Error(), path)
			_, err = os.Lstat(path)
			assert.NoError(t, err, "untouched")
		})
	}
}

func TestR1_AcceptsAnEmptyDirectoryAndLeavesIt(t *testing.T) {
	state, root := dirs(t)
	path := filepath.Join(root, "notes")
	require.NoError(t, os.Mkdir(path, 0o755))
	p, err := mountpoint.Take(state, path, true)
	require.NoError(t, err)
	require.NoError(t, p.Remove())
	assert.DirExists(t, path)

	require.NoError(t, os.WriteFile(filepath.Join(path, "x"), nil, 0o600))
	_, err = mountpoint.Take(state, path, true)
	var taken *mountpoint.TakenError
	assert.ErrorAs(t, err, &taken)
}

func TestR1_TakesItsOwnLeftoverAgain(t *testing.T) {
	state, root := dirs(t)
	path := filepath.Join(root, "memory", "notes")
	_, err := mountpoint.Take(state, path, false) // and then the process is killed
	require.NoError(t, err)
	p, err := mountpoint.Take(state, path, false)
	require.NoError(t, err)

	other, err := mountpoint.Take(state, filepath.Join(root, "memory", "other"), false)
	require.NoError(t, err)
	require.NoError(t, p.Remove())
	assert.DirExists(t, filepath.Join(root, "memory"), "still used by the other")
	require.NoError(t, other.Remove())
	assert.NoDirExists(t, filepath.Join(root, "memory"), "the last one takes the parent that the first made")
	assert.DirExists(t, root)
}

func TestR15_ManyAtOnceLeaveNothing(t *testing.T) {
	state, root := dirs(t)
	for range 20 {
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				p, err := mountpoint.Take(state, filepath.Join(root, "mnt", "memory", fmt.Sprint(i)), false)
				if assert.NoError(t, err) {
					assert.NoError(t, p.Remove())
				}
			})
		}
		wait.Wait()
		left, err := os.ReadDir(root)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	left, err := os.ReadDir(filepath.Join(state, "mountpoints"))
	require.NoError(t, err)
	for _, entry := range left {
		assert.NotContains(t, entry.Name(), ".json", "and no record of it")
	}
}

func TestTake_NamesAnUnwritableParent(t *testing.T) {
	state, root := dirs(t)
	file := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := mountpoint.Take(state, filepath.Join(file, "notes"), false)
	var parent *mountpoint.ParentError
	require.ErrorAs(t, err, &parent)
	assert.NotContains(t, err.Error(), "chown", "nobody is told to take a directory that is there")
}

func TestR18_StateDirInsideAnAttachedPath(t *testing.T) {
	root := t.TempDir()
	link := filepath.Join(root, "link")
	require.NoError(t, os.Mkdir(filepath.Join(root, "mnt"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(root, "mnt"), link))
	paths := []string{filepath.Join(root, "mnt", "notes")}
	for dir, refused := range map[string]bool{
		filepath.Join(root, "mnt", "notes"):           true,
		filepath.Join(root, "mnt", "notes", "x", "y"): true,
		filepath.Join(root, "mnt", "notes-state"):     false,
		filepath.Join(link, "notes", "state"):         true,
		filepath.Join(root, "state"):                  false,
	} {
		err := mountpoint.CheckStateDir(dir, paths)
		if refused {
			assert.ErrorIs(t, err, mountpoint.ErrStateDir, dir)
		} else {
			assert.NoError(t, err, dir)
		}
	}
}
