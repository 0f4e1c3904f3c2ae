//go:build linux

package posix

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxOpen is how many files the random calls keep open.
const maxOpen = 8

// random is a random call.
func (d *differ) random() call {
	calls := []func() call{
		d.openFile, d.openFile, d.openFile, d.openFile, d.openFile, d.openDir, d.openAt,
		d.closeOne, d.mkdir, d.mkdir, d.rmdir, d.unlink, d.unlink,
		d.rename, d.rename, d.rename, d.renameFlags, d.link, d.symlink,
		d.stat, d.stat, d.stat, d.fstat, d.fstat, d.readdir, d.readdir, d.readdirOpen,
		d.chmod, d.utimens, d.utimens, d.truncate, d.ftruncate, d.ftruncate,
		d.pread, d.pread, d.pwrite, d.pwrite, d.pwrite, d.read, d.write, d.write,
		d.seek, d.seekHole, d.copyRange, d.fsync, d.allocate, d.access, d.mkdirAt, d.unlinkAt,
	}
	return calls[d.dice.IntN(len(calls))]()
}

// path is a random path of few, so that calls meet each other.
func (d *differ) path() string {
	names := []string{"a", "b", "c.md", "x", "y", "é"}
	depth := pick(d.dice, 1, 1, 2, 2, 3)
	parts := make([]string, depth)
	for i := range parts {
		parts[i] = names[d.dice.IntN(len(names))]
	}
	path := strings.Join(parts, "/")
	switch d.dice.IntN(60) {
	case 0:
		return path + "/"
	case 1:
		return path + "/."
	case 2:
		return path + "/.."
	case 3:
		return path + "/" + strings.Repeat("n", pick(d.dice, 254, 255, 256))
	}
	return path
}

// handle is one of the open files; there is always one to name.
func (d *differ) handle() int { return d.dice.IntN(max(1, d.disk.open())) }

func (s *side) fd(i int) int {
	if i >= len(s.files) {
		return -1
	}
	return s.files[i].fd
}

// keep takes an open file in, if there is room, and says what it is.
func (s *side) keep(fd int, err error) string {
	if err != nil {
		return result(err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return result(err)
	}
	if len(s.files) >= maxOpen {
		return result(unix.Close(fd), describe(stat))
	}
	s.files = append(s.files, handle{fd, stat.Ino})
	return describe(stat)
}

func (d *differ) openFile() call {
	flags := pick(d.dice, unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_RDWR)
	for _, flag := range []int{unix.O_CREAT, unix.O_CREAT, unix.O_CREAT, unix.O_EXCL, unix.O_TRUNC, unix.O_APPEND} {
		if d.dice.IntN(3) == 0 {
			flags |= flag
		}
	}
	if d.dice.IntN(8) == 0 {
		flags |= pick(d.dice, unix.O_DIRECTORY, unix.O_NOFOLLOW, unix.O_SYNC, unix.O_PATH, unix.O_NOATIME)
	}
	path, mode := d.path(), pick[uint32](d.dice, 0o600, 0o644, 0o666)
	return call{kind: "open", what: fmt.Sprintf("%s %#x %#o", path, flags, mode), do: func(s *side) string {
		return s.keep(unix.Open(s.at(path), flags|unix.O_CLOEXEC, mode))
	}}
}

func (d *differ) openDir() call {
	path := d.path()
	return call{kind: "open directory", what: path, do: func(s *side) string {
		return s.keep(unix.Open(s.at(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
	}}
}

// openAt opens relative to an open directory, which may have been removed.
func (d *differ) openAt() call {
	i, flags := d.handle(), pick(d.dice, unix.O_RDONLY, unix.O_RDWR|unix.O_CREAT)
	name := pick(d.dice, "a", "b", "x/a", ".", "..")
	if flags&unix.O_CREAT == 0 {
		flags |= pick(d.dice, 0, unix.O_DIRECTORY)
	}
	return call{kind: "openat", what: fmt.Sprintf("#%d %s %#x", i, name, flags), do: func(s *side) string {
		if s.outside(i, name) {
			return "skipped"
		}
		return s.keep(unix.Openat(s.fd(i), name, flags|unix.O_CLOEXEC, 0o644))
	}}
}

// outside reports whether a name leads out of the root.
func (s *side) outside(i int, name string) bool {
	var root, here unix.Stat_t
	_ = unix.Stat(s.root, &root)
	_ = unix.Fstat(s.fd(i), &here)
	return name == ".." && here.Ino == root.Ino
}

func (d *differ) closeOne() call {
	if d.disk.open() < maxOpen/2 {
		return d.openFile()
	}
	i := d.handle()
	return call{kind: "close", what: fmt.Sprintf("#%d", i), do: func(s *side) string {
		fd := s.files[i].fd
		s.files = slices.Delete(s.files, i, i+1)
		return result(unix.Close(fd))
	}}
}

func (d *differ) mkdir() call {
	path, mode := d.path(), pick[uint32](d.dice, 0o700, 0o755, 0o2775)
	return call{kind: "mkdir", what: path, do: func(s *side) string { return result(unix.Mkdir(s.at(path), mode)) }}
}

func (d *differ) mkdirAt() call {
	i, name := d.handle(), pick(d.dice, "x", "y/x")
	return call{kind: "mkdirat", what: fmt.Sprintf("#%d %s", i, name), do: func(s *side) string {
		return result(unix.Mkdirat(s.fd(i), name, 0o755))
	}}
}

func (d *differ) rmdir() call {
	path := d.path()
	return call{kind: "rmdir", what: path, do: func(s *side) string { return result(unix.Rmdir(s.at(path))) }}
}

func (d *differ) unlink() call {
	path := d.path()
	return call{kind: "unlink", what: path, do: func(s *side) string { return result(unix.Unlink(s.at(path))) }}
}

func (d *differ) unlinkAt() call {
	i, name, flags := d.handle(), pick(d.dice, "a", "x"), pick(d.dice, 0, unix.AT_REMOVEDIR)
	return call{kind: "unlinkat", what: fmt.Sprintf("#%d %s %#x", i, name, flags), do: func(s *side) string {
		return result(unix.Unlinkat(s.fd(i), name, flags))
	}}
}

func (d *differ) rename() call {
	from, to := d.path(), d.path()
	return call{kind: "rename", what: from + " " + to, do: func(s *side) string { return result(unix.Rename(s.at(from), s.at(to))) }}
}

// renameFlags are renameat2's. Of them a mount serves RENAME_NOREPLACE.
func (d *differ) renameFlags() call {
	from, to := d.path(), d.path()
	flags := pick[uint](d.dice, unix.RENAME_NOREPLACE, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE)
	if flags == unix.RENAME_EXCHANGE {
		from, to = filepath.Clean(from), filepath.Clean(to) // or it could not be taken back
	}
	c := call{kind: "renameat2", what: fmt.Sprintf("%s %s %d", from, to, flags), do: func(s *side) string {
		if flags == unix.RENAME_EXCHANGE {
			defer keepTimes(filepath.Dir(s.at(from)), filepath.Dir(s.at(to)))()
		}
		err := unix.Renameat2(unix.AT_FDCWD, s.at(from), unix.AT_FDCWD, s.at(to), flags)
		if err == nil && flags == unix.RENAME_EXCHANGE { // taken back: the mount refuses it
			err = unix.Renameat2(unix.AT_FDCWD, s.at(from), unix.AT_FDCWD, s.at(to), flags)
		}
		return result(err)
	}}
	if flags == unix.RENAME_EXCHANGE && from != to { // the kernel's own affair
		c.kind, c.differ = "renameat2 exchange", refused(unix.EINVAL)
	}
	return c
}

// keepTimes puts mtimes back, after what was done on the disk alone.
func keepTimes(paths ...string) (restore func()) {
	before := make([]unix.Stat_t, len(paths))
	for i, path := range paths {
		_ = unix.Stat(path, &before[i])
	}
	return func() {
		for i, path := range paths {
			_ = unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, before[i].Mtim}, 0)
		}
	}
}

// link is refused (R11).
func (d *differ) link() call {
	from, to := d.path(), d.path()
	return call{kind: "link", what: from + " " + to, differ: refused(unix.EPERM), do: func(s *side) string {
		defer keepTimes(filepath.Dir(s.at(to)))()
		err := unix.Link(s.at(from), s.at(to))
		if err == nil {
			err = unix.Unlink(s.at(to))
		}
		return result(err)
	}}
}

// symlink is refused (R11).
func (d *differ) symlink() call {
	path := d.path()
	return call{kind: "symlink", what: path, differ: refused(unix.EPERM), do: func(s *side) string {
		defer keepTimes(filepath.Dir(s.at(path)))()
		err := unix.Symlink("a", s.at(path))
		if err == nil {
			err = unix.Unlink(s.at(path))
		}
		return result(err)
	}}
}

// allocate is refused. On the disk it leaves the size.
func (d *differ) allocate() call {
	i := d.handle()
	return call{kind: "fallocate", what: fmt.Sprintf("#%d", i), differ: refused(unix.EOPNOTSUPP), do: func(s *side) string {
		defer keepTimes(fmt.Sprintf("/proc/self/fd/%d", s.fd(i)))()
		return result(unix.Fallocate(s.fd(i), unix.FALLOC_FL_KEEP_SIZE, 0, 4096))
	}}
}

// describe is what two filesystems agree on about a file. A time that was not
// set to the past is the time of a change, and as good as any other.
func describe(stat unix.Stat_t) string {
	when := func(t unix.Timespec) string {
		if t.Sec < past {
			return fmt.Sprintf("%d.%d", t.Sec, t.Nsec)
		}
		return "lately"
	}
	size := stat.Size
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		size = 0
	}
	return fmt.Sprintf("mode %o, %d links, size %d, owner %d:%d, mtime %s", stat.Mode, stat.Nlink, size, stat.Uid, stat.Gid, when(stat.Mtim))
}

// past is before every time that a call sets by itself.
const past = 1_000_000_000

func (d *differ) stat() call {
	path := d.path()
	return call{kind: "stat", what: path, do: func(s *side) string {
		var stat unix.Stat_t
		err := unix.Lstat(s.at(path), &stat)
		return result(err, describe(stat))
	}}
}

func (d *differ) fstat() call {
	i := d.handle()
	return call{kind: "fstat", what: fmt.Sprintf("#%d", i), do: func(s *side) string {
		var stat unix.Stat_t
		if err := unix.Fstat(s.fd(i), &stat); err != nil {
			return result(err)
		}
		return result(nil, describe(stat), ", same inode ", stat.Ino == s.files[i].ino)
	}}
}

func (d *differ) access() call {
	path, mode := d.path(), pick[uint32](d.dice, unix.F_OK, unix.R_OK, unix.W_OK, unix.X_OK)
	return call{kind: "access", what: path, do: func(s *side) string { return result(unix.Access(s.at(path), mode)) }}
}

func (d *differ) readdir() call {
	path := pick(d.dice, ".", d.path())
	return call{kind: "readdir", what: path, do: func(s *side) string {
		dir, err := os.Open(s.at(path))
		if err != nil {
			return result(err)
		}
		defer dir.Close()
		return names(dir)
	}}
}

func (d *differ) readdirOpen() call {
	i := d.handle()
	return call{kind: "readdir open", what: fmt.Sprintf("#%d", i), do: func(s *side) string {
		fd, err := unix.Openat(s.fd(i), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return result(err)
		}
		dir := os.NewFile(uintptr(fd), ".")
		defer dir.Close()
		return names(dir)
	}}
}

func names(dir *os.File) string {
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return result(err)
	}
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Type().String()+entry.Name())
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (d *differ) chmod() call {
	path, mode := d.path(), pick[uint32](d.dice, 0o600, 0o640, 0o755, 0o4755, 0o1777)
	return call{kind: "chmod", what: fmt.Sprintf("%s %o", path, mode), do: func(s *side) string { return result(unix.Chmod(s.at(path), mode)) }}
}

// utimens sets times of the past, and to see which calls move them.
func (d *differ) utimens() call {
	path := d.path()
	times := []unix.Timespec{
		{Sec: 1 + d.dice.Int64N(past-1), Nsec: d.dice.Int64N(1e9)},
		pick(d.dice, unix.Timespec{Sec: 1 + d.dice.Int64N(past-1), Nsec: d.dice.Int64N(1e9)},
			unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}),
	}
	return call{kind: "utimensat", what: fmt.Sprint(path, times), do: func(s *side) string {
		return result(unix.UtimesNanoAt(unix.AT_FDCWD, s.at(path), times, 0))
	}}
}
