package mounted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Write gives a file in a mount another content, or makes it and the
// directories above it, as an editor would: a temporary file, whose name keeps
// it from the store, is renamed over it. Owner and permissions stay; a new
// file has its directory's owner.
func Write(file string, content []byte) (err error) {
	dir := filepath.Dir(file)
	if err := makeAll(dir); err != nil {
		return err
	}
	like, err := stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		like, err = stat(dir)
	}
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".memfs-*~")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(content)
	if err == nil {
		err = resemble(temp.Name(), like, readWrite)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// Permission bits of files and of directories.
const (
	readWrite       = 0o666
	readWriteSearch = 0o777
)

// makeAll makes a directory and those above it; new ones resemble the one that
// they are in.
func makeAll(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeAll(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	parent, err := stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return resemble(dir, parent, readWriteSearch)
}

// resemble gives what stands at path the owner and the permissions of another.
func resemble(path string, like unix.Stat_t, permissions os.FileMode) error {
	if err := os.Chmod(path, os.FileMode(like.Mode)&permissions); err != nil {
		return err
	}
	if int(like.Uid) == os.Geteuid() {
		return nil
	}
	return os.Lchown(path, int(like.Uid), int(like.Gid))
}

func stat(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return st, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st, nil
}
