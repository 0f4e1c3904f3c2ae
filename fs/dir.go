//go:build linux || darwin

package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// A listing begins with "." and "..", so an entry's offset in it is its cookie
// and dots more.
const dots = 2

// The fewest bytes that an entry takes in a listing, with and without
// attributes.
const (
	minDirent     = 32
	minDirentPlus = 160
)

// ReadDir lists names.
func (f *filesystem) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, list *fuse.DirEntryList) fuse.Status {
	return f.list("readdir", in, minDirent, func(e fuse.DirEntry, _ bool) bool {
		return list.AddDirEntry(e)
	})
}

// ReadDirPlus lists names with their attributes, and each counts as a lookup
// of the name. A name whose file went meanwhile is listed without: the kernel
// looks it up when somebody asks.
func (f *filesystem) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, list *fuse.DirEntryList) fuse.Status {
	return f.list("readdirplus", in, minDirentPlus, func(e fuse.DirEntry, dot bool) bool {
		out := list.AddDirLookupEntry(e)
		if out == nil {
			return false
		}
		if !dot {
			if a, ok := f.tree.Ref(replica.Ino(e.Ino)); ok {
				entry(out, e.Name, a)
			}
		}
		return true
	})
}

// list hands the entries behind in.Offset to add, until one does not fit.
func (f *filesystem) list(op string, in *fuse.ReadIn, smallest int, add func(e fuse.DirEntry, dot bool) bool) fuse.Status {
	ino := inode(&in.InHeader)
	after := uint64(0)
	if in.Offset > dots {
		after = in.Offset - dots
	}
	entries, err := f.tree.ReadDir(ino, after, int(in.Size)/smallest+1)
	if err != nil {
		return f.status(err, op, ino, "")
	}
	for _, e := range f.dots(ino, in.Offset) {
		if !add(e, true) {
			return fuse.OK
		}
	}
	for _, e := range entries {
		out := fuse.DirEntry{Name: e.Name, Ino: uint64(e.Attr.Ino), Mode: fileMode(e.Attr), Off: e.Cookie + dots}
		if !add(out, false) {
			break
		}
	}
	return fuse.OK
}

// dots are "." and "..", as far as they stand behind an offset.
func (f *filesystem) dots(ino replica.Ino, offset uint64) []fuse.DirEntry {
	if offset >= dots {
		return nil
	}
	parent, err := f.tree.Parent(ino)
	if err != nil {
		parent = ino // removed while somebody is in it
	}
	return []fuse.DirEntry{
		{Name: ".", Ino: uint64(ino), Mode: syscall.S_IFDIR, Off: 1},
		{Name: "..", Ino: uint64(parent), Mode: syscall.S_IFDIR, Off: dots},
	}[offset:]
}

// FsyncDir returns when the directory's entries are on disk.
func (f *filesystem) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	ino := inode(&in.InHeader)
	return f.status(f.tree.Fsync(ino), "fsyncdir", ino, "")
}
