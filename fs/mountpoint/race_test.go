//go:build linux

package mountpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// R18: who owns the directory above puts a link in the place of one that was just
// made; what it leads to keeps its mode.
func TestR18_ALinkInTheWayChangesNoMode(t *testing.T) {
	dir := t.TempDir()
	victim, point, link := filepath.Join(dir, "victim"), filepath.Join(dir, "work", "point"), filepath.Join(dir, "work", "link")
	require.NoError(t, os.WriteFile(victim, nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Dir(point), 0o700))
	over, raced := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(raced)
		for {
			select {
			case <-over:
				return
			default:
			}
			_ = os.Symlink(victim, link)
			_ = unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, point, unix.RENAME_EXCHANGE)
		}
	}()
	for range 1_000 {
		_ = makeDir(point, parentMode)
		_ = os.RemoveAll(point)
		_ = os.RemoveAll(link)
	}
	close(over)
	<-raced
	info, err := os.Stat(victim)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}
