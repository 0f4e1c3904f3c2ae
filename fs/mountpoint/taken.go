package mountpoint

import (
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
	"time"
)

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
