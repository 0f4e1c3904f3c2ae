package mounted

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names are those in a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func requireFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, mode, info.Mode().Perm())
}

func TestWriteKeepsPermissionsAndLeavesNothingElse(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o750))
	file := filepath.Join(root, "a")
	require.NoError(t, os.WriteFile(file, []byte("old, and longer"), 0o600))
	require.NoError(t, os.Chmod(file, 0o444))
	require.NoError(t, Write(file, []byte("new")))
	requireFile(t, file, "new", 0o444)

	deep := filepath.Join(root, "x", "y", "b")
	require.NoError(t, Write(deep, nil))
	requireFile(t, deep, "", 0o640)
	info, err := os.Stat(filepath.Dir(deep))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o750), info.Mode().Perm())
	assert.Equal(t, []string{"a", "x"}, names(t, root))
	assert.Equal(t, []string{"b"}, names(t, filepath.Dir(deep)))
}

func TestWriteThatFailsLeavesNothing(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "dir", "full"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	require.Error(t, Write(filepath.Join(root, "dir"), []byte("text")))
	require.Error(t, Write(filepath.Join(root, "file", "below"), []byte("text")))
	assert.Equal(t, []string{"dir", "file"}, names(t, root))
}

func TestWriteKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write for others")
	}
	root := t.TempDir()
	require.NoError(t, os.Chown(root, 1234, 1235))
	file := filepath.Join(root, "a")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Chown(file, 4321, 5321))
	require.NoError(t, Write(file, []byte("new")))
	below := filepath.Join(root, "x", "b")
	require.NoError(t, Write(below, []byte("new")))
	for path, want := range map[string][2]uint32{file: {4321, 5321}, below: {1234, 1235}, filepath.Dir(below): {1234, 1235}} {
		st, err := stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, [2]uint32{st.Uid, st.Gid}, path)
	}
}

func TestMountPaths(t *testing.T) {
	m := Mount{Root: "/mnt/a"}
	for memory, file := range map[string]string{"/b": "/mnt/a/b", "/b/c d": "/mnt/a/b/c d"} {
		got, err := m.Path(memory)
		require.NoError(t, err)
		assert.Equal(t, file, got)
		assert.Equal(t, memory, m.Memory(file))
	}
	assert.Equal(t, "/", m.Memory("/mnt/a"))
	for _, bad := range []string{"", "b", "/../b", "/a//b", "/"} {
		_, err := m.Path(bad)
		require.Error(t, err, bad)
	}
	assert.True(t, within("/mnt/a", "/mnt/a"))
	assert.True(t, within("/mnt/a/b", "/mnt/a"))
	assert.True(t, within("/mnt", "/"))
	assert.False(t, within("/mnt/ab", "/mnt/a"))
}
