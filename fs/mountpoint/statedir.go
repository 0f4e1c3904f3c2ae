package mountpoint

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"memfs/fs"
)

// ErrStateDir: the state directory lies in a memory store's mount, or in a path
// that is about to be one: memfs would wait for itself (R18).
var ErrStateDir = errors.New("the state directory must not lie inside a memory store's mount")

// CheckStateDir applies R18 to a state directory, which may not exist yet, for
// stores that are to be mounted at paths, nor do those lie in it. It touches no
// mount.
func CheckStateDir(stateDir string, paths []string) error {
	mounts, err := fs.Mounts()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(stateDir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	for _, path := range paths {
		if Inside(path, abs) || Inside(path, realPath(abs)) {
			return fmt.Errorf("%w, nor the mount at %s in it; choose another path", ErrStateDir, path)
		}
	}
	for _, m := range mounts {
		paths = append(paths, m.Path)
	}
	for _, path := range paths {
		// By name first: looking into a mount can wait for its process.
		if Inside(abs, path) {
			return fmt.Errorf("%w: %s is in %s; choose another with --state-dir", ErrStateDir, stateDir, path)
		}
	}
	real := realPath(abs)
	for _, path := range paths {
		if Inside(real, path) {
			return fmt.Errorf("%w: %s is in %s; choose another with --state-dir", ErrStateDir, stateDir, path)
		}
	}
	return nil
}

// Inside reports whether path is dir or lies below it, by name.
func Inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Stays reports whether path lies in dir also where the links that lead there are
// followed; what is at its end is not looked at.
func Stays(path, dir string) bool {
	return Inside(resolved(path), realPath(dir))
}

// resolved is the one name of a mount point, whatever links lead there, as the
// kernel's mount table has it. What is at its end is not looked at: it may be a
// dead mount.
func resolved(path string) string {
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

// realPath resolves links in as much of an absolute path as exists.
func realPath(path string) string {
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest)
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}
