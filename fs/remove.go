//go:build linux || darwin

package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// Unlink removes a file's name; whoever has it open keeps it.
func (f *filesystem) Unlink(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	parent := inode(header)
	err := f.tree.Unlink(parent, name)
	if err == nil {
		f.aliased(parent, name)
	}
	return f.status(err, "unlink", parent, name)
}

// Rmdir removes an empty directory.
func (f *filesystem) Rmdir(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	parent := inode(header)
	err := f.tree.Rmdir(parent, name)
	if err == nil {
		f.aliased(parent, name)
	}
	return f.status(err, "rmdir", parent, name)
}

// Rename moves a name. Of the flags of renameat2(2) it knows
// RENAME_NOREPLACE; programs try the others and fall back on EINVAL.
func (f *filesystem) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, newName string) fuse.Status {
	if in.Flags&^renameNoReplace != 0 {
		return fuse.EINVAL
	}
	parent, newParent := inode(&in.InHeader), replica.Ino(in.Newdir)
	err := f.tree.Rename(parent, name, newParent, newName, in.Flags&renameNoReplace != 0)
	if err == nil {
		f.aliased(parent, name)
		f.aliased(newParent, newName)
	}
	return f.status(err, "rename", parent, name)
}
