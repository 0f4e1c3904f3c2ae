package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// labelOpen is the label of opening and making directories.
const labelOpen = "dir.open"

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// open makes the directory if it is missing, opens it and checks it. Its name
// is durable then: also where it was made by a process that was killed before
// it could see to that.
func (d *Dir) open() error {
	var handle *os.File
	op := Op{Label: labelOpen, Kind: KindMkdir, Dir: filepath.Dir(d.path), Name: filepath.Base(d.path)}
	err := d.hook.run(op, func() (err error) {
		handle, err = d.openHandle()
		return err
	})
	if err == nil {
		err = d.syncParent()
	}
	if err != nil {
		if handle != nil {
			err = errors.Join(err, handle.Close())
		}
		return d.pathError(KindOpen, "", d.closedToUs(err))
	}
	// An old handle may still be in use; it is closed with the last of them.
	d.handle.Store(handle)
	return nil
}

// closedToUs is err, and *UnsafeError where the directory cannot be made or
// looked into: who runs memfs has to name another, as with one that is unsafe.
func (d *Dir) closedToUs(err error) error {
	var unsafe *UnsafeError
	if errors.As(err, &unsafe) || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
		return err
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &UnsafeError{Path: d.path, Problem: fmt.Sprintf("cannot be made or written (%v)", err), Err: err,
		Remedy: fmt.Sprintf("use another directory, one that user %d may write", os.Geteuid())}
}

func (d *Dir) openHandle() (*os.File, error) {
	if d.parent == nil {
		if err := makeAll(filepath.Dir(d.path)); err != nil {
			return nil, err
		}
		return openDir(unix.AT_FDCWD, d.path, d.path)
	}
	var handle *os.File
	open := func(fd int) (err error) {
		handle, err = openDir(fd, d.name, d.path)
		return err
	}
	err := d.parent.at(open)
	if errors.Is(err, unix.ENOENT) {
		if err = d.parent.revive(); err == nil {
			err = d.parent.at(open)
		}
	}
	return handle, err
}

// revive makes the directory anew where somebody removed it under us.
func (d *Dir) revive() error {
	d.reviving.Lock()
	defer d.reviving.Unlock()
	var st unix.Stat_t
	err := d.at(func(fd int) error { return unix.Fstat(fd, &st) })
	if err != nil || st.Nlink > 0 {
		return err
	}
	return d.open()
}

// openDir opens name relative to at, makes it if missing, and checks it.
func openDir(at int, name, path string) (*os.File, error) {
	err := unix.Mkdirat(at, name, dirMode)
	made := err == nil
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, flags, 0)
	if made && errors.Is(err, unix.EACCES) {
		// The umask took the owner's rights as well.
		if err = unix.Fchmodat(at, name, dirMode, 0); err == nil {
			fd, err = unix.Openat(at, name, flags, 0)
		}
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, &UnsafeError{Path: path, Problem: "is not a directory but a symbolic link or a file",
			Remedy: "remove it, or name the directory itself"}
	}
	if errors.Is(err, unix.ENOENT) { // removed in between
		return openDir(at, name, path)
	}
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	if made {
		err = unix.Fchmod(fd, dirMode)
	}
	if err == nil {
		err = checkDir(fd, path)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

func (d *Dir) syncParent() error {
	if d.parent != nil {
		return d.parent.Sync(labelOpen)
	}
	parent := filepath.Dir(d.path)
	return d.hook.run(Op{Label: labelOpen, Kind: KindSync, Dir: parent, Name: "."}, func() error { return syncDir(parent) })
}

// syncDir syncs a directory that is not ours. One that cannot be read cannot
// be synced either; somebody else set it up.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// checkDir refuses a directory that others own or have access to.
func checkDir(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uid := os.Geteuid(); int(st.Uid) != uid {
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("belongs to uid %d, memfs runs as uid %d", st.Uid, uid),
			Remedy: fmt.Sprintf("use another directory, one that belongs to user %d", uid)}
	}
	if mode := st.Mode & 0o777; mode&0o077 != 0 {
		return &UnsafeError{Path: path, Problem: fmt.Sprintf("gives others access (mode %04o)", mode),
			Remedy: "use another directory, or make it 0700 if it is for memfs alone"}
	}
	return nil
}

// makeAll makes a directory and its parents where they are missing.
func makeAll(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeAll(filepath.Dir(path)); err != nil {
		return err
	}
	dir, err := openDir(unix.AT_FDCWD, path, path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Close(), syncDir(filepath.Dir(path)))
}
