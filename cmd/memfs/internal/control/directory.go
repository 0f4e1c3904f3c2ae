package control

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Directory is where the sockets are of the processes that command one another:
// what this process was given (by systemd, the first of several), the system's
// for root, or the user's own. getenv is os.Getenv.
func Directory(getenv func(string) string, uid int) string {
	if given, _, _ := strings.Cut(getenv("RUNTIME_DIRECTORY"), ":"); given != "" {
		return given
	}
	if uid == 0 {
		return systemDirectory()
	}
	if user := getenv("XDG_RUNTIME_DIR"); user != "" {
		return filepath.Join(user, "memfs")
	}
	if user := filepath.Join("/run/user", strconv.Itoa(uid)); exists(user) {
		return filepath.Join(user, "memfs")
	}
	return "/tmp/memfs-" + strconv.Itoa(uid)
}

func systemDirectory() string {
	if runtime.GOOS == "linux" {
		return "/run/memfs"
	}
	return "/var/run/memfs"
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// prepare makes dir, or closes to others the one that is there.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	uid, err := owner(dir)
	if err != nil {
		return err
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d: remove it or set RUNTIME_DIRECTORY", dir, uid)
	}
	return os.Chmod(dir, 0o700)
}

// owner is whose directory dir is. It does not follow a symbolic link.
func owner(dir string) (int, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok {
		return 0, fmt.Errorf("%s is not a directory: remove it or set RUNTIME_DIRECTORY", dir)
	}
	return int(stat.Uid), nil
}
