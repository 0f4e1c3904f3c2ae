//go:build linux

package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"
)

func TestDirectories(t *testing.T) {
	m := newMount(t, map[string]string{"/a/b/c.md": "c", "/top.md": "top"})
	assert.Equal(t, []string{"a", "top.md"}, m.list(""))
	assert.Equal(t, []string{"b"}, m.list("a"))
	assert.ErrorIs(t, unix.Rmdir(m.at("a")), unix.ENOTEMPTY)
	assert.ErrorIs(t, unix.Rmdir(m.at("top.md")), unix.ENOTDIR)
	assert.ErrorIs(t, unix.Unlink(m.at("a")), unix.EISDIR)
	assert.ErrorIs(t, unix.Mkdir(m.at("a"), 0o755), unix.EEXIST)
	assert.EqualValues(t, 3, m.stat("a").Nlink)

	require.NoError(t, os.MkdirAll(m.at("x/y"), 0o755))
	require.NoError(t, os.Rename(m.at("a/b"), m.at("x/y/b")))
	assert.Equal(t, "c", m.read("x/y/b/c.md"))
	assert.ErrorIs(t, unix.Rename(m.at("x"), m.at("x/y/inside")), unix.EINVAL)
	require.NoError(t, os.RemoveAll(m.at("x")))
	assert.NoDirExists(t, m.at("x"))
	dir, err := os.Open(m.path)
	require.NoError(t, err)
	assert.NoError(t, dir.Sync())
	assert.NoError(t, dir.Close())
}

// TestListing reads raw entries: both dots with their inode numbers, and each
// name once, also when names come and go while the listing is read.
func TestListing(t *testing.T) {
	m := newMount(t, nil)
	require.NoError(t, os.Mkdir(m.at("d"), 0o755))
	want := []string{}
	for i := range 500 {
		name := fmt.Sprintf("%03d-%s", i, strings.Repeat("n", 60))
		want = append(want, name)
		m.write(filepath.Join("d", name), "")
	}
	dir, err := os.Open(m.at("d"))
	require.NoError(t, err)
	defer dir.Close()
	buf := make([]byte, 4096)
	n, err := unix.Getdents(int(dir.Fd()), buf)
	require.NoError(t, err)
	inos, names := dirents(buf[:n])
	assert.Equal(t, []string{".", ".."}, names[:2])
	assert.Equal(t, []uint64{m.stat("d").Ino, 1}, inos[:2])

	gone := names[2]
	require.NoError(t, os.Remove(filepath.Join(m.at("d"), gone)))
	require.NoError(t, os.Remove(filepath.Join(m.at("d"), want[499])))
	for {
		n, err := unix.Getdents(int(dir.Fd()), buf)
		require.NoError(t, err)
		if n == 0 {
			break
		}
		_, more := dirents(buf[:n])
		names = append(names, more...)
	}
	slices.Sort(names)
	assert.Equal(t, append([]string{".", ".."}, want[:499]...), names)
	assert.Len(t, m.list("d"), 498)
}

func dirents(buf []byte) (inos []uint64, names []string) {
	for len(buf) > 0 {
		length := int(buf[16]) | int(buf[17])<<8
		ino := uint64(0)
		for i := range 8 {
			ino |= uint64(buf[i]) << (8 * i)
		}
		name, _, _ := strings.Cut(string(buf[19:length]), "\x00")
		inos, names = append(inos, ino), append(names, name)
		buf = buf[length:]
	}
	return inos, names
}

func TestRenameFlags(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "a", "/b": "b"})
	at := func(flags uint) error {
		return unix.Renameat2(unix.AT_FDCWD, m.at("a"), unix.AT_FDCWD, m.at("b"), flags)
	}
	assert.ErrorIs(t, at(unix.RENAME_NOREPLACE), unix.EEXIST)
	assert.ErrorIs(t, at(unix.RENAME_EXCHANGE), unix.EINVAL)
	assert.ErrorIs(t, at(unix.RENAME_WHITEOUT), unix.EINVAL)
	assert.Equal(t, "a", m.read("a"))
	require.NoError(t, at(0))
	assert.Equal(t, "a", m.read("b"))
	require.NoError(t, unix.Renameat2(unix.AT_FDCWD, m.at("b"), unix.AT_FDCWD, m.at("c"), unix.RENAME_NOREPLACE))
	assert.Equal(t, []string{"c"}, m.list(""))
}

func TestR11_WhatAStoreCannotHold(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "a"})
	assert.ErrorIs(t, os.Symlink("a", m.at("s")), unix.EPERM)
	assert.ErrorIs(t, os.Link(m.at("a"), m.at("l")), unix.EPERM)
	assert.ErrorIs(t, unix.Mkfifo(m.at("f"), 0o644), unix.EPERM)
	assert.ErrorIs(t, unix.Mknod(m.at("d"), unix.S_IFCHR|0o644, 0), unix.EPERM)
	assert.ErrorIs(t, os.WriteFile(m.at("a\nb"), nil, 0o644), unix.EINVAL)
	assert.ErrorIs(t, os.WriteFile(m.at(strings.Repeat("n", 256)), nil, 0o644), unix.ENAMETOOLONG)
	m.write(strings.Repeat("n", 255), "fits")
	_, err := unix.Open(m.path, unix.O_TMPFILE|unix.O_RDWR, 0o644)
	assert.ErrorIs(t, err, unix.EOPNOTSUPP)
	require.NoError(t, unix.Mknod(m.at("regular"), unix.S_IFREG|0o644, 0))
	m.write("regular", "text")
	assert.Equal(t, "text", m.read("regular"))
}

// TestR12_EitherFormOfAName: the kernel keeps what NFC names stand for and
// must hear when one was changed through its other form.
func TestR12_EitherFormOfAName(t *testing.T) {
	nfc, nfd := norm.NFC.String("café.md"), norm.NFD.String("café.md")
	require.NotEqual(t, nfc, nfd)
	m := newMount(t, nil)

	assert.NoFileExists(t, m.at(nfc)) // the kernel remembers that
	m.write(nfd, "decomposed")
	m.eventually("seen under NFC", func() bool { return exists(m.at(nfc)) })
	assert.Equal(t, "decomposed", m.read(nfc))
	assert.Equal(t, "decomposed", m.read(nfd))
	assert.Equal(t, []string{nfc}, m.list(""))

	require.NoError(t, os.Remove(m.at(nfd)))
	m.eventually("gone under NFC", func() bool { return !exists(m.at(nfc)) })

	m.write("plain", "moved")
	require.NoError(t, os.Rename(m.at("plain"), m.at(nfd)))
	m.eventually("moved to NFC", func() bool { return exists(m.at(nfc)) })
	assert.Equal(t, []string{nfc}, m.list(""))

	dirC, dirD := norm.NFC.String("dé"), norm.NFD.String("dé")
	assert.NoDirExists(t, m.at(dirC))
	require.NoError(t, os.Mkdir(m.at(dirD), 0o755))
	m.eventually("directory seen under NFC", func() bool { return exists(m.at(dirC)) })
	m.write(filepath.Join(dirD, "in"), "side")
	assert.Equal(t, "side", m.read(filepath.Join(dirC, "in")))
	assert.Equal(t, "side", m.read(filepath.Join(dirD, "in")))
}

// TestR12_OtherFormsAreNotCached: a remote change is told of under the kept
// form only, and yet the other form never shows what was before.
func TestR12_OtherFormsAreNotCached(t *testing.T) {
	nfc, nfd := norm.NFC.String("é"), norm.NFD.String("é")
	m := newMount(t, nil)
	require.False(t, exists(m.at(nfd)))
	m.put("/"+nfc, "first")
	assert.Equal(t, "first", m.read(nfd))
	m.put("/"+nfc, "second")
	assert.Equal(t, "second", m.read(nfd))
	m.do(order{Do: "drop", Path: "/" + nfc})
	assert.False(t, exists(m.at(nfd)))
}

func TestGroupIsInherited(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give a directory another group")
	}
	m := newMount(t, nil)
	require.NoError(t, os.Mkdir(m.at("shared"), 0o755))
	require.NoError(t, os.Chown(m.at("shared"), 0, 4321))
	require.NoError(t, os.Chmod(m.at("shared"), 0o775|os.ModeSetgid))
	m.write("shared/file", "")
	require.NoError(t, os.Mkdir(m.at("shared/below"), 0o755))
	assert.EqualValues(t, 4321, m.stat("shared/file").Gid)
	assert.EqualValues(t, 4321, m.stat("shared/below").Gid)
	assert.NotZero(t, m.stat("shared/below").Mode&unix.S_ISGID)
}
