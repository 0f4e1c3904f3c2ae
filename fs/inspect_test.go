//go:build linux

package fs

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
)

func getxattr(path, name string) (string, error) {
	value := make([]byte, 4096)
	n, err := unix.Getxattr(path, name, value)
	if err != nil {
		return "", err
	}
	return string(value[:n]), nil
}

func listxattr(t *testing.T, path string) []string {
	names := make([]byte, 4096)
	n, err := unix.Listxattr(path, names)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00")
}

func TestAttributesOfAFile(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	want := map[string]string{
		"user.memfs.id":      "mem__a",
		"user.memfs.version": "memver_1",
		"user.memfs.sha256":  store.Hash([]byte("text")).String(),
		"user.memfs.state":   "remote",
	}
	for name, value := range want {
		got, err := getxattr(m.at("a"), name)
		require.NoError(t, err, name)
		assert.Equal(t, value, got, name)
	}
	_, err := getxattr(m.at("a"), "user.memfs.reason")
	assert.ErrorIs(t, err, unix.ENODATA)
	m.read("a")
	got, err := getxattr(m.at("a"), "user.memfs.state")
	require.NoError(t, err)
	assert.Equal(t, "clean", got)
	synced, err := getxattr(m.at("a"), "user.memfs.synced_at")
	if err == nil {
		_, err = time.Parse(time.RFC3339Nano, synced)
	}
	assert.NoError(t, err)
	for name := range want {
		assert.Contains(t, listxattr(t, m.at("a")), name)
	}

	m.write("new", "text")
	_, err = getxattr(m.at("new"), "user.memfs.id")
	assert.ErrorIs(t, err, unix.ENODATA)
	got, err = getxattr(m.at("new"), "user.memfs.state")
	require.NoError(t, err)
	assert.Equal(t, "dirty", got)
}

func TestAttributesOfTheRoot(t *testing.T) {
	m := newMount(t, map[string]string{"/d/a": "text"})
	got, err := getxattr(m.path, "user.memfs.store")
	require.NoError(t, err)
	assert.Equal(t, testStore, got)
	got, err = getxattr(m.path, "user.memfs.status")
	require.NoError(t, err)
	var status map[string]any
	require.NoError(t, json.Unmarshal([]byte(got), &status))
	assert.EqualValues(t, 1, status["memories"])
	assert.Equal(t, []string{"user.memfs.status", "user.memfs.store"}, listxattr(t, m.path))

	n, err := unix.Getxattr(m.path, "user.memfs.store", nil)
	require.NoError(t, err)
	assert.Equal(t, len(testStore), n)
	_, err = unix.Getxattr(m.path, "user.memfs.store", make([]byte, 3))
	assert.ErrorIs(t, err, unix.ERANGE)
	n, err = unix.Listxattr(m.at("d"), nil)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestR11_ForeignAttributesAreNotSupported(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	for _, name := range []string{"user.other", "security.capability", "security.selinux", "system.posix_acl_access"} {
		_, err := getxattr(m.at("a"), name)
		assert.ErrorIs(t, err, unix.ENOTSUP, name)
	}
	assert.ErrorIs(t, unix.Setxattr(m.at("a"), "user.other", []byte("x"), 0), unix.ENOTSUP)
	assert.ErrorIs(t, unix.Setxattr(m.at("a"), "user.memfs.id", []byte("x"), 0), unix.ENOTSUP)
	assert.ErrorIs(t, unix.Removexattr(m.at("a"), "user.memfs.id"), unix.ENOTSUP)
}

// TestProgramsThatCopyMetadata: none of them may fail or complain.
func TestProgramsThatCopyMetadata(t *testing.T) {
	m := newMount(t, map[string]string{"/from/a": "text"})
	outside := t.TempDir()
	for _, script := range []string{
		`cp -a "$1/from" "$1/copy"`,
		`cp -a "$1/from" "$2/out"`,
		`cp -a "$2/out" "$1/back"`,
		`mkdir "$1/untarred"; tar -C "$1/from" -cf - . | tar -C "$1/untarred" -xf -`,
		`mv "$1/back" "$2/moved"`,
		`ls -l "$1"; stat "$1/from/a"`,
		`python3 -c 'import shutil,sys; shutil.copy2(sys.argv[1]+"/from/a", sys.argv[1]+"/copied")' "$1"`,
	} {
		said, err := exec.Command("sh", "-ec", `{ `+script+`; } >/dev/null`, "sh", m.path, outside).CombinedOutput()
		assert.NoError(t, err, script)
		assert.Empty(t, string(said), script)
	}
	text, err := os.ReadFile(outside + "/moved/a")
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	assert.Equal(t, "text", m.read("copied"))
}

func TestStatfs(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	var stat unix.Statfs_t
	require.NoError(t, unix.Statfs(m.path, &stat))
	assert.EqualValues(t, 255, stat.Namelen)
	assert.EqualValues(t, 4096, stat.Bsize)
	assert.EqualValues(t, store.DefaultMaxMemories, stat.Files)
	assert.Less(t, stat.Ffree, stat.Files)
	assert.NotZero(t, stat.Blocks)
	assert.NotZero(t, stat.Bavail)
}
