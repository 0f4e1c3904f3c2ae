package mountpoint_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return filepath.Join(t.TempDir(), "state"), root
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
	p, err := mountpoint.Take(state, path, false)
	require.NoError(t, err)
	require.NoError(t, p.Killed())
	p, err = mountpoint.Take(state, path, false)
	require.NoError(t, err)

	other, err := mountpoint.Take(state, filepath.Join(root, "memory", "other"), false)
	require.NoError(t, err)
	require.NoError(t, p.Remove())
	assert.DirExists(t, filepath.Join(root, "memory"), "still used by the other")
	require.NoError(t, other.Remove())
	assert.NoDirExists(t, filepath.Join(root, "memory"), "the last one takes the parent that the first made")
	assert.DirExists(t, root)
}

// R15: a directory has one record, by whatever links it is named.
func TestR15_ALinkedParentIsNoOtherDirectory(t *testing.T) {
	state, root := dirs(t)
	link := filepath.Join(root, "link")
	require.NoError(t, os.Mkdir(filepath.Join(root, "real"), 0o755))
	require.NoError(t, os.Symlink("real", link))
	linked, direct := filepath.Join(link, "memory", "notes"), filepath.Join(root, "real", "memory", "notes")
	for made, found := range map[string]string{linked: direct, direct: linked} {
		p, err := mountpoint.Take(state, made, false)
		require.NoError(t, err)
		assert.Equal(t, direct, p.Path())
		require.NoError(t, p.Killed())
		p, err = mountpoint.Take(state, found, false)
		require.NoError(t, err)
		require.NoError(t, p.Remove())
		assert.NoDirExists(t, filepath.Join(root, "real", "memory"))
	}
}

// In mount namespaces of their own several can use one directory: its removal
// would take the mounts of the others with it.
func TestR18_TheLastWhoUsesADirectoryRemovesIt(t *testing.T) {
	state, root := dirs(t)
	path := filepath.Join(root, "memory", "notes")
	first, err := mountpoint.Take(state, path, false)
	require.NoError(t, err)
	second, err := mountpoint.Take(state, path, false)
	require.NoError(t, err)
	require.NoError(t, first.Remove())
	assert.DirExists(t, path)
	require.NoError(t, second.Remove())
	assert.NoDirExists(t, filepath.Join(root, "memory"))
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

// R1: a record that somebody else wrote removes nothing but empty directories
// that a mount path of its own lies in.
func TestR1_ForgedRecords(t *testing.T) {
	for name, forge := range map[string]func(path, victim string) map[string]any{
		"another directory": func(path, victim string) map[string]any {
			return map[string]any{"path": path, "made": []string{victim, path}}
		},
		"a file": func(path, victim string) map[string]any {
			return map[string]any{"path": path, "made": []string{victim + "/file", path}}
		},
		"a file that is a mount path": func(path, victim string) map[string]any {
			return map[string]any{"path": victim + "/file/gone", "made": []string{victim + "/file"}}
		},
		"upwards": func(path, victim string) map[string]any {
			return map[string]any{"path": path, "made": []string{path + "/../../" + filepath.Base(victim)}}
		},
		"the root": func(path, victim string) map[string]any {
			return map[string]any{"path": path, "made": []string{"/"}}
		},
		"relative": func(path, victim string) map[string]any {
			return map[string]any{"path": path, "made": []string{"."}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			state, root := dirs(t)
			path, other, victim := filepath.Join(root, "notes"), filepath.Join(root, "other"), filepath.Join(root, "victim")
			p, err := mountpoint.Take(state, path, false) // makes the state directory
			require.NoError(t, err)
			require.NoError(t, p.Remove())
			require.NoError(t, os.Mkdir(victim, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(victim, "file"), []byte("theirs"), 0o600))
			empty := filepath.Join(root, "empty")
			require.NoError(t, os.Mkdir(empty, 0o755))
			for _, v := range []string{victim, empty} {
				r := forge(path, v)
				text, err := json.Marshal(r)
				require.NoError(t, err)
				sum := sha256.Sum256([]byte(r["path"].(string)))
				require.NoError(t, os.WriteFile(filepath.Join(state, "mountpoints", hex.EncodeToString(sum[:12])+".json"), text, 0o600))
				for _, at := range []string{path, other} { // the record's own path, and others' clearing up
					p, err := mountpoint.Take(state, at, false)
					require.NoError(t, err)
					require.NoError(t, p.Remove())
				}
			}
			assert.FileExists(t, filepath.Join(victim, "file"))
			assert.DirExists(t, empty)
			assert.DirExists(t, root)
		})
	}
}
