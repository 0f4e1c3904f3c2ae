//go:build linux

// Package smalldisk gives tests a disk that they can fill.
package smalldisk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Mount mounts a disk of its own at a new directory, until the test ends. size
// is tmpfs's, like "2m". It skips the test where only root could.
func Mount(t testing.TB, dir, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=700"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

// Fill leaves no byte free in a directory's disk; room makes room again.
func Fill(dir string) (room func() error, err error) {
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	for size := 64 << 10; size > 0; size /= 16 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			return nil, err
		}
	}
	return func() error { return os.Remove(f.Name()) }, nil
}
