package mountpoint

import (
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
	"time"

	memfs "memfs/fs"
)

// checkLive is fs.ErrMounted where memfs serves a resolved path already. It
// touches no mount.
func checkLive(path string) error {
	mounts, err := memfs.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.Path == path {
			return fmt.Errorf("%s is %w by memfs, with store %s", path, memfs.ErrMounted, m.StoreID)
		}
	}
	return nil
}

// taken describes what stands at a path.
func taken(path string, info fs.FileInfo) *TakenError {
	e := &TakenError{Path: path, What: "a file", Owner: "unknown", Age: time.Since(info.ModTime())}
	switch {
	case info.IsDir():
		e.What = "a directory"
	case info.Mode()&fs.ModeSymlink != 0:
		e.What = "a symbolic link"
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Owner = "uid " + strconv.Itoa(int(stat.Uid))
		if u, err := user.LookupId(strconv.Itoa(int(stat.Uid))); err == nil {
			e.Owner = u.Username
		}
	}
	return e
}
