package disk

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Stat describes a file or directory.
type Stat struct {
	Dir     bool
	Regular bool
	Size    int64
	Mtime   time.Time
	// Linked is false where the file has no name any more: somebody removed
	// it while it was open.
	Linked bool
}

func statOf(st *unix.Stat_t) Stat {
	return Stat{
		Dir:     st.Mode&unix.S_IFMT == unix.S_IFDIR,
		Regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
		Size:    st.Size,
		Mtime:   time.Unix(st.Mtim.Unix()),
		Linked:  st.Nlink > 0,
	}
}

// Rename gives the file another name in the same directory, over whatever has
// it.
func (d *Dir) Rename(label, from, to string) error {
	err := d.run(Op{Label: label, Kind: KindRename, Name: from, To: to}, func() error {
		if err := errors.Join(checkName(from), checkName(to)); err != nil {
			return err
		}
		return d.at(func(fd int) error { return unix.Renameat(fd, from, fd, to) })
	})
	return d.pathError(KindRename, from, err)
}

// Remove removes a file or a symbolic link (not what it points to).
func (d *Dir) Remove(label, name string) error { return d.remove(label, name, 0) }

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(label, name string) error { return d.remove(label, name, unix.AT_REMOVEDIR) }

func (d *Dir) remove(label, name string, flags int) error {
	err := d.run(Op{Label: label, Kind: KindRemove, Name: name}, func() error {
		if err := checkName(name); err != nil {
			return err
		}
		return d.at(func(fd int) error { return unix.Unlinkat(fd, name, flags) })
	})
	return d.pathError(KindRemove, name, err)
}

// Stat describes what has the name, without following a link.
func (d *Dir) Stat(label, name string) (Stat, error) {
	var st unix.Stat_t
	err := d.run(Op{Label: label, Kind: KindStat, Name: name}, func() error {
		if err := checkName(name); err != nil {
			return err
		}
		return d.at(func(fd int) error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	})
	if err != nil {
		return Stat{}, d.pathError(KindStat, name, err)
	}
	return statOf(&st), nil
}

// Exists reports whether anything has the name.
func (d *Dir) Exists(label, name string) (bool, error) {
	_, err := d.Stat(label, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List returns the names in the directory, sorted. One that was removed under
// us has none.
func (d *Dir) List(label string) ([]string, error) {
	var names []string
	err := d.run(Op{Label: label, Kind: KindList, Name: "."}, func() error {
		var err error
		if names, err = d.readNames(); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return names, d.pathError(KindList, "", err)
}

// readNames reads the directory through a handle of its own, since reading
// moves the handle's position.
func (d *Dir) readNames() ([]string, error) {
	var fd int
	err := d.at(func(at int) (err error) {
		fd, err = unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), d.path)
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, dir.Close())
}
