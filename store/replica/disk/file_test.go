package disk_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

// secret is a directory and a file that nothing done in state may reach.
func attacked(t *testing.T) (d *disk.Dir, state, secret string) {
	root := t.TempDir()
	secret = filepath.Join(root, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("untouched"), 0o600))
	require.NoError(t, os.Mkdir(secret+".d", 0o700))
	require.NoError(t, os.WriteFile(secret+".d/file", []byte("untouched"), 0o600))
	state = filepath.Join(root, "state")
	d = open(t, state, nil)
	t.Cleanup(func() {
		for _, path := range []string{secret, secret + ".d/file"} {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "untouched", string(content))
		}
	})
	return d, state, secret
}

func TestR16_NeverThroughASymbolicLink(t *testing.T) {
	d, state, secret := attacked(t)
	var unsafe *disk.UnsafeError
	link := filepath.Join(state, "link")
	for _, target := range []string{secret, "../secret", secret + ".d", "nowhere"} {
		require.NoError(t, os.Symlink(target, link))

		_, err := d.OpenFile("test", "link", false)
		assert.ErrorAs(t, err, &unsafe, target)
		_, err = d.OpenFile("test", "link", true)
		assert.ErrorAs(t, err, &unsafe, target)
		_, err = d.Create("test", "link")
		assert.ErrorIs(t, err, fs.ErrExist, target)
		_, err = d.ReadFile("test", "link", 1000)
		assert.ErrorAs(t, err, &unsafe, target)
		_, err = d.Lock("link")
		assert.ErrorAs(t, err, &unsafe, target)
		st, err := d.Stat("test", "link")
		require.NoError(t, err)
		assert.False(t, st.Regular || st.Dir)

		// Writing replaces the link, as removing removes it.
		require.NoError(t, d.WriteFile("test", "link", []byte("new"), true))
		content, err := d.ReadFile("test", "link", 1000)
		require.NoError(t, err)
		assert.Equal(t, "new", string(content))
		require.NoError(t, d.Remove("test", "link"))
	}
}

func TestRemoveAllStaysInside(t *testing.T) {
	d, state, secret := attacked(t)
	require.NoError(t, os.MkdirAll(filepath.Join(state, "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(state, "a", "b", "file"), nil, 0o600))
	require.NoError(t, os.Symlink(secret+".d", filepath.Join(state, "a", "link")))
	require.NoError(t, os.Symlink(secret, filepath.Join(state, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(state, "fifo"), 0o600))

	require.NoError(t, d.RemoveAll("test"))
	names, err := d.List("test")
	require.NoError(t, err)
	assert.Empty(t, names)
}

func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "state"), nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(d.Path(), "fifo"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(d.Path(), "dir"), 0o700))
	for _, name := range []string{"fifo", "dir"} {
		for _, write := range []bool{false, true} {
			_, err := d.OpenFile("test", name, write)
			var unsafe *disk.UnsafeError
			require.ErrorAs(t, err, &unsafe, name) // and does not wait for a writer
			assert.Equal(t, filepath.Join(d.Path(), name), unsafe.Path)
		}
	}
}

func TestReadAndWrite(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "state"), nil)
	f, err := d.Create("test", "file")
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	n, err := f.WriteAt("test", []byte("hello"), 3)
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	require.NoError(t, f.Sync("test"))
	require.NoError(t, f.Truncate("test", 6))
	p := make([]byte, 10)
	n, err = f.ReadAt("test", p, 0)
	assert.Equal(t, io.EOF, err)
	assert.Equal(t, "\x00\x00\x00hel", string(p[:n]))
	st, err := f.Stat("test")
	require.NoError(t, err)
	assert.True(t, st.Linked && st.Regular && !st.Dir)
	assert.EqualValues(t, 6, st.Size)

	require.NoError(t, d.Remove("test", "file"))
	st, err = f.Stat("test")
	require.NoError(t, err)
	assert.False(t, st.Linked)
}

func TestReadFileIsBounded(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "state"), nil)
	require.NoError(t, d.WriteFile("test", "file", []byte("12345"), false))
	content, err := d.ReadFile("test", "file", 5)
	require.NoError(t, err)
	assert.Equal(t, "12345", string(content))
	_, err = d.ReadFile("test", "file", 4)
	assert.ErrorIs(t, err, syscall.EFBIG)
	_, err = d.ReadFile("test", "none", 4)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Equal(t, filepath.Join(d.Path(), "none"), path.Path)
}

func TestWriteFileLeavesTheOldFileWhereItFails(t *testing.T) {
	for kind, label := range map[disk.Kind]string{
		disk.KindCreate: "write", disk.KindWrite: "write", disk.KindSync: "write", disk.KindRename: "write",
	} {
		t.Run(string(kind), func(t *testing.T) {
			faults := new(disktest.Faults)
			d := open(t, filepath.Join(t.TempDir(), "state"), faults.Hook)
			require.NoError(t, d.WriteFile(label, "file", []byte("old"), true))
			faults.Add(disktest.Rule{Label: label, Kind: kind, Times: 1, Fault: disk.Fault{Err: syscall.EIO, Short: 1}})
			assert.ErrorIs(t, d.WriteFile(label, "file", []byte("new"), true), syscall.EIO)
			names, err := d.List("test")
			require.NoError(t, err)
			assert.Equal(t, []string{"file"}, names)
			content, err := d.ReadFile("test", "file", 10)
			require.NoError(t, err)
			assert.Equal(t, "old", string(content))
		})
	}
}

func TestRemoveTempsRemovesNothingElse(t *testing.T) {
	faults := new(disktest.Faults)
	d := open(t, filepath.Join(t.TempDir(), "state"), faults.Hook)
	require.NoError(t, d.WriteFile("test", "file", nil, false))
	faults.Kill(3, false) // create, write, and not the rename
	require.ErrorIs(t, d.WriteFile("test", "other", nil, false), disktest.ErrKilled)
	faults.Reset()
	names, err := d.List("test")
	require.NoError(t, err)
	require.Len(t, names, 2)
	assert.True(t, disk.IsTemp(names[0]))

	require.NoError(t, d.RemoveTemps("test", time.Hour))
	names, err = d.List("test")
	require.NoError(t, err)
	require.Len(t, names, 2, "somebody may be writing it")
	require.NoError(t, d.RemoveTemps("test", 0))
	names, err = d.List("test")
	require.NoError(t, err)
	assert.Equal(t, []string{"file"}, names)
}

func TestInjectedShortWrite(t *testing.T) {
	faults := new(disktest.Faults)
	d := open(t, filepath.Join(t.TempDir(), "state"), faults.Hook)
	f, err := d.Create("test", "file")
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	for _, test := range []struct {
		fault disk.Fault
		want  error
	}{
		{disk.Fault{Short: 2}, io.ErrShortWrite},
		{disk.Fault{Short: 2, Err: syscall.ENOSPC}, syscall.ENOSPC},
	} {
		faults.Add(disktest.Rule{Label: "short", Times: 1, Fault: test.fault})
		n, err := f.WriteAt("short", []byte("abc"), 0)
		assert.Equal(t, 2, n)
		assert.ErrorIs(t, err, test.want)
		content, err := d.ReadFile("test", "file", 10)
		require.NoError(t, err)
		assert.Equal(t, "ab", string(content))
	}
}
