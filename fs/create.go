//go:build linux || darwin

package fs

import (
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// Create makes a file and opens it. There is no handle: the kernel would not
// give it back once it knows that opens need none.
func (f *filesystem) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	err := f.create(&in.InHeader, name, in.Mode, &out.EntryOut)
	if errors.Is(err, replica.ErrExist) && in.Flags&syscall.O_EXCL == 0 {
		// The kernel believes that there is no such name, and a remote change
		// has just made it. ESTALE has it look again and open what is there,
		// permissions checked; O_EXCL gets its EEXIST.
		return fuse.Status(syscall.ESTALE)
	}
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return f.status(err, "create", inode(&in.InHeader), name)
}

// Mknod makes a regular file; a store holds nothing else (R11).
func (f *filesystem) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if kind := in.Mode & syscall.S_IFMT; kind != syscall.S_IFREG && kind != 0 {
		return fuse.EPERM
	}
	return f.status(f.create(&in.InHeader, name, in.Mode, out), "mknod", inode(&in.InHeader), name)
}

func (f *filesystem) create(header *fuse.InHeader, name string, mode uint32, out *fuse.EntryOut) error {
	parent := inode(header)
	gid, _ := f.group(parent, header.Gid)
	a, err := f.tree.Create(parent, name, mode&permissions, header.Uid, gid)
	if err != nil {
		return err
	}
	entry(out, name, a)
	f.aliased(parent, name)
	return nil
}

// Mkdir makes a directory.
func (f *filesystem) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	parent := inode(&in.InHeader)
	gid, inherited := f.group(parent, in.Gid)
	a, err := f.tree.Mkdir(parent, name, in.Mode&permissions|inherited, in.Uid, gid)
	if err != nil {
		return f.status(err, "mkdir", parent, name)
	}
	entry(out, name, a)
	f.aliased(parent, name)
	return fuse.OK
}

// group is the group of what is made in a directory: the caller's, or the
// directory's where it has the set-group-ID bit, which directories inherit.
func (f *filesystem) group(parent replica.Ino, caller uint32) (gid, inherited uint32) {
	a, err := f.tree.Getattr(parent)
	if err != nil || a.Mode&syscall.S_ISGID == 0 {
		return caller, 0
	}
	return a.GID, syscall.S_ISGID
}

// Symlink: a store holds no links, and programs expect EPERM of a filesystem
// without (R11).
func (f *filesystem) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}

// Link: as Symlink.
func (f *filesystem) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EPERM
}
