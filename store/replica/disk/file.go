package disk

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// File is an open regular file.
type File struct {
	dir  *Dir
	name string
	id   uint64
	f    *os.File
}

// Create makes a new file and opens it to read and write. It fails with
// fs.ErrExist where the name is taken, by a symbolic link too. Where the
// directory itself was removed under us, it is made anew.
func (d *Dir) Create(label, name string) (*File, error) {
	for revived := 0; ; revived++ {
		file, err := d.create(label, name)
		if !errors.Is(err, unix.ENOENT) || revived == maxRevived {
			return file, err
		}
		if err := d.revive(); err != nil {
			return nil, err
		}
	}
}

// maxRevived is how often a directory is made anew for one file: whoever removes
// it, as an owner that ends does, may do so again and again.
const maxRevived = 100

func (d *Dir) create(label, name string) (*File, error) {
	return d.openAt(Op{Label: label, Kind: KindCreate, Name: name}, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
}

// OpenFile opens an existing regular file to read, and with write to write as
// well. What is no regular file, or has another name besides, is an
// *UnsafeError.
func (d *Dir) OpenFile(label, name string, write bool) (*File, error) {
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_RDWR
	}
	return d.openAt(Op{Label: label, Kind: KindOpen, Name: name}, flags)
}

func (d *Dir) openAt(op Op, flags int) (*File, error) {
	var f *os.File
	op.File = d.opened.Add(1)
	err := d.run(op, func() (err error) {
		if err := checkName(op.Name); err != nil {
			return err
		}
		f, err = d.openRegular(op.Name, flags)
		return err
	})
	if err != nil {
		return nil, d.pathError(op.Kind, op.Name, err)
	}
	return &File{dir: d, name: op.Name, id: op.File, f: f}, nil
}

// openRegular opens without following a link and, by O_NONBLOCK, without
// waiting for the other end of a fifo.
func (d *Dir) openRegular(name string, flags int) (*os.File, error) {
	var fd int
	err := d.at(func(dirfd int) (err error) {
		fd, err = unix.Openat(dirfd, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, fileMode)
		return err
	})
	notRegular := &UnsafeError{Path: d.path + "/" + name, Problem: "is not a regular file", Remedy: "remove it"}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EISDIR) {
		return nil, notRegular
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = notRegular
	}
	if err == nil && st.Nlink > 1 {
		err = &UnsafeError{Path: d.path + "/" + name, Problem: "is somebody else's file too, by another name (a hard link)", Remedy: "remove it"}
	}
	if err == nil && flags&unix.O_CREAT != 0 {
		err = unix.Fchmod(fd, fileMode)
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Name is the name the file was opened by.
func (f *File) Name() string { return f.name }

// ReadAt reads as io.ReaderAt does.
func (f *File) ReadAt(label string, p []byte, off int64) (n int, err error) {
	op := f.op(label, KindRead)
	op.Off, op.Size = off, len(p)
	err = f.dir.run(op, func() error {
		n, err = f.f.ReadAt(p, off)
		return err
	})
	if errors.Is(err, io.EOF) {
		return n, err
	}
	return n, f.dir.pathError(KindRead, f.name, err)
}

// WriteAt writes all of p at off. Where it fails, n bytes were written.
func (f *File) WriteAt(label string, p []byte, off int64) (n int, err error) {
	op := f.op(label, KindWrite)
	op.Dir, op.Off = f.dir.path, off
	n, err = f.dir.hook.write(op, p, func(p []byte) (int, error) { return f.f.WriteAt(p, off) })
	return n, f.dir.pathError(KindWrite, f.name, err)
}

// Sync makes the content durable, with the metadata needed to read it back.
func (f *File) Sync(label string) error {
	err := f.dir.run(f.op(label, KindSync), func() error { return syncData(f.f) })
	return f.dir.pathError(KindSync, f.name, err)
}

// Rename gives the file another name in its directory, over whatever has it.
// The caller sees to it that nobody uses f meanwhile.
func (f *File) Rename(label, to string) error {
	err := f.dir.Rename(label, f.name, to)
	if err == nil {
		f.name = to
	}
	return err
}

// Truncate sets the size.
func (f *File) Truncate(label string, size int64) error {
	op := f.op(label, KindTruncate)
	op.Off = size
	err := f.dir.run(op, func() error { return f.f.Truncate(size) })
	return f.dir.pathError(KindTruncate, f.name, err)
}

// Stat describes the file.
func (f *File) Stat(label string) (Stat, error) {
	var st unix.Stat_t
	err := f.dir.run(f.op(label, KindStat), func() error {
		return withFD(f.f, func(fd int) error { return unix.Fstat(fd, &st) })
	})
	if err != nil {
		return Stat{}, f.dir.pathError(KindStat, f.name, err)
	}
	return statOf(&st), nil
}

func (f *File) op(label string, kind Kind) Op {
	return Op{Label: label, Kind: kind, Name: f.name, File: f.id}
}

// Close gives the handle back. It syncs nothing.
func (f *File) Close() error { return f.f.Close() }
