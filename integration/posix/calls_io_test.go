//go:build linux

package posix

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"memfs/store"
)

// size is a size or offset; -1 is none.
func (d *differ) size() int64 { return pick[int64](d.dice, 0, 1, 100, 4095, 4096, 5000, 60_000, -1) }

func (d *differ) truncate() call {
	path, size := d.path(), d.size()
	return call{kind: "truncate", what: fmt.Sprint(path, " ", size), do: func(s *side) string { return result(unix.Truncate(s.at(path), size)) }}
}

func (d *differ) ftruncate() call {
	i, size := d.handle(), d.size()
	return call{kind: "ftruncate", what: fmt.Sprintf("#%d %d", i, size), do: func(s *side) string { return result(unix.Ftruncate(s.fd(i), size)) }}
}

func (d *differ) pread() call {
	i, off, size := d.handle(), d.size(), d.dice.IntN(10_000)
	return call{kind: "pread", what: fmt.Sprintf("#%d %d at %d", i, size, off), do: func(s *side) string {
		text := make([]byte, size)
		n, err := unix.Pread(s.fd(i), text, off)
		return result(err, brief(text[:max(0, n)]))
	}}
}

func (d *differ) pwrite() call {
	i, off, text := d.handle(), d.size(), d.dice.text(d.dice.IntN(9000))
	return call{kind: "pwrite", what: fmt.Sprintf("#%d %d at %d", i, len(text), off), do: func(s *side) string {
		n, err := unix.Pwrite(s.fd(i), text, off)
		return result(err, n)
	}}
}

// brief tells a text from others.
func brief(text []byte) string {
	return fmt.Sprintf("%d bytes %s %.12q", len(text), store.Hash(text).String()[:8], text)
}

func (d *differ) read() call {
	i, size := d.handle(), d.dice.IntN(5000)
	return call{kind: "read", what: fmt.Sprintf("#%d %d", i, size), do: func(s *side) string {
		text := make([]byte, size)
		n, err := unix.Read(s.fd(i), text)
		return result(err, brief(text[:max(0, n)]))
	}}
}

// write writes at the handle's place. Files that got large are cut first: a
// disk has no limit of 102,400 bytes.
func (d *differ) write() call {
	i, text := d.handle(), d.dice.text(d.dice.IntN(2000))
	return call{kind: "write", what: fmt.Sprintf("#%d %d", i, len(text)), do: func(s *side) string {
		var stat unix.Stat_t
		if err := unix.Fstat(s.fd(i), &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Size > 80_000 {
			_ = unix.Ftruncate(s.fd(i), 10)
			_, _ = unix.Seek(s.fd(i), 0, unix.SEEK_SET)
		}
		n, err := unix.Write(s.fd(i), text)
		return result(err, n)
	}}
}

func (d *differ) seek() call {
	i, off, whence := d.handle(), d.size(), pick(d.dice, unix.SEEK_SET, unix.SEEK_END)
	return call{kind: "lseek", what: fmt.Sprintf("#%d %d %d", i, off, whence), do: func(s *side) string {
		var stat unix.Stat_t
		if err := unix.Fstat(s.fd(i), &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return "skipped" // each filesystem numbers entries its own way
		}
		at, err := unix.Seek(s.fd(i), off%5000, whence)
		return result(err, at)
	}}
}

// seekHole: a mount has no holes, a disk may have.
func (d *differ) seekHole() call {
	i, off, whence := d.handle(), d.size(), pick(d.dice, unix.SEEK_DATA, unix.SEEK_HOLE)
	size := int64(-1)
	return call{kind: "lseek hole", what: fmt.Sprintf("#%d %d %d", i, off, whence), do: func(s *side) string {
		var stat unix.Stat_t
		if err := unix.Fstat(s.fd(i), &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return "skipped"
		}
		size = stat.Size
		at, err := unix.Seek(s.fd(i), off, whence)
		_, undo := unix.Seek(s.fd(i), 0, unix.SEEK_SET)
		return result(errors.Join(err, undo), at)
	}, differ: func(disk string) string {
		switch {
		case failed(disk) && (off < 0 || off >= size), disk == "skipped", size < 0:
			return disk
		case failed(disk) && disk != errorMark+"ENXIO":
			return disk
		case whence == unix.SEEK_HOLE:
			return fmt.Sprint(size)
		}
		return fmt.Sprint(off)
	}}
}

func (d *differ) copyRange() call {
	from, to, off, size := d.handle(), d.handle(), max(0, d.size()), d.dice.IntN(9000)
	return call{kind: "copy_file_range", what: fmt.Sprintf("#%d #%d %d at %d", from, to, size, off), do: func(s *side) string {
		in, out := off, off
		n, err := unix.CopyFileRange(s.fd(from), &in, s.fd(to), &out, size, 0)
		return result(err, n)
	}}
}

func (d *differ) fsync() call {
	i := d.handle()
	return call{kind: "fsync", what: fmt.Sprintf("#%d", i), do: func(s *side) string { return result(unix.Fsync(s.fd(i))) }}
}
