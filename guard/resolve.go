package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links one path may lead through, as in Linux.
const maxLinks = 40

// resolve follows every link in an absolute path. What does not exist
// yet stays as it is named; a link to something that does not exist leads
// there all the same.
func resolve(path string) (string, error) {
	real, links := "/", 0
	rest := strings.Split(path, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return missing(next, rest)
		case err != nil:
			return "", errno(err)
		case info.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		text, err := os.Readlink(next)
		if err != nil {
			return "", errno(err)
		}
		if filepath.IsAbs(text) {
			real = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return real, nil
}

// missing appends names below something that does not exist. The way back up
// from there leads nowhere yet, so it is not guessed.
func missing(path string, rest []string) (string, error) {
	for _, name := range rest {
		if name == ".." {
			return "", syscall.ENOENT
		}
		path = filepath.Join(path, name)
	}
	return path, nil
}

// errno strips the operation and the resolved path from an error: a tool's
// message names the path as it was given, not the host's.
func errno(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
