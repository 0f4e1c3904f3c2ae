//go:build linux || darwin

package fs

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

const (
	blockSize   = 4096 // what stat and df count in
	sectorSize  = 512  // what st_blocks counts in, whatever the block size
	permissions = 0o7777
)

// Lookup finds a name in a directory.
func (f *filesystem) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	parent := inode(header)
	a, err := f.tree.Lookup(parent, name)
	if errors.Is(err, replica.ErrNotExist) {
		return noEntry(out, name)
	}
	if err != nil {
		return f.status(err, "lookup", parent, name)
	}
	entry(out, name, a)
	return fuse.OK
}

// GetAttr is stat.
func (f *filesystem) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	ino := inode(&in.InHeader)
	a, err := f.tree.Getattr(ino)
	if err != nil {
		return f.status(err, "getattr", ino, "")
	}
	out.SetTimeout(cacheTimeout)
	fillAttr(&out.Attr, a)
	return fuse.OK
}

// SetAttr is chmod, chown, utimens and truncate.
func (f *filesystem) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	ino := inode(&in.InHeader)
	set := wanted(&in.SetAttrInCommon)
	if in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		if err := f.dropPrivileges(ino, &set); err != nil {
			return f.status(err, "setattr", ino, "")
		}
	}
	a, err := f.tree.Setattr(context.Background(), ino, set)
	if err != nil {
		return f.status(err, "setattr", ino, "")
	}
	out.SetTimeout(cacheTimeout)
	fillAttr(&out.Attr, a)
	return fuse.OK
}

func wanted(in *fuse.SetAttrInCommon) replica.SetAttr {
	var set replica.SetAttr
	if mode, ok := in.GetMode(); ok {
		set.Mode = &mode
	}
	if uid, ok := in.GetUID(); ok {
		set.UID = &uid
	}
	if gid, ok := in.GetGID(); ok {
		set.GID = &gid
	}
	if size, ok := in.GetSize(); ok {
		signed := int64(size)
		set.Size = &signed
	}
	if atime, ok := in.GetATime(); ok {
		set.Atime = inRange(atime)
	}
	if mtime, ok := in.GetMTime(); ok {
		set.Mtime = inRange(mtime)
	}
	return set
}

// What a count of nanoseconds can stand for, with room for a remote change to be
// newer.
var (
	firstTime = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// inRange is the time that can be kept next to t, as other filesystems have it.
func inRange(t time.Time) *time.Time {
	switch {
	case t.Before(firstTime):
		return &firstTime
	case t.After(lastTime):
		return &lastTime
	}
	return &t
}

// dropPrivileges adds to set that the file loses its set-user-ID bit, and its
// set-group-ID bit where the group may execute it. The kernel leaves that to
// the filesystem at a chown, and at a write or truncate by an ordinary user.
func (f *filesystem) dropPrivileges(ino replica.Ino, set *replica.SetAttr) error {
	a, err := f.tree.Getattr(ino)
	if err != nil {
		return err
	}
	mode := a.Mode
	if set.Mode != nil {
		mode = *set.Mode
	}
	kept := mode &^ syscall.S_ISUID
	if kept&0o010 != 0 {
		kept &^= syscall.S_ISGID
	}
	if kept != mode {
		set.Mode = &kept
	}
	return nil
}

// Statx is asked for only when somebody wants to know when a file was born.
func (f *filesystem) Statx(_ <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	ino := inode(&in.InHeader)
	a, err := f.tree.Getattr(ino)
	if err != nil {
		return f.status(err, "statx", ino, "")
	}
	out.SetTimeout(cacheTimeout)
	out.Statx = fuse.Statx{
		Mask: statxBasic | statxBtime, Blksize: blockSize,
		Nlink: a.Nlink, Uid: a.UID, Gid: a.GID, Mode: uint16(fileMode(a)), Ino: uint64(a.Ino),
		Size: uint64(a.Size), Blocks: sectors(a),
		Atime: statxTime(a.Atime), Btime: statxTime(a.Btime), Ctime: statxTime(a.Ctime), Mtime: statxTime(a.Mtime),
	}
	return fuse.OK
}

// The masks of statx(2).
const (
	statxBasic = 0x7ff
	statxBtime = 0x800
)

func statxTime(t time.Time) fuse.SxTime {
	return fuse.SxTime{Sec: uint64(t.Unix()), Nsec: uint32(t.Nanosecond())}
}

func fillAttr(out *fuse.Attr, a replica.Attr) {
	out.Ino = uint64(a.Ino)
	out.Mode = fileMode(a)
	out.Size = uint64(a.Size)
	out.Blocks = sectors(a)
	out.Blksize = blockSize
	out.Nlink = a.Nlink
	out.Owner = fuse.Owner{Uid: a.UID, Gid: a.GID}
	out.SetTimes(&a.Atime, &a.Mtime, &a.Ctime)
}

// fileMode is st_mode.
func fileMode(a replica.Attr) uint32 {
	kind := uint32(syscall.S_IFREG)
	if a.Dir {
		kind = syscall.S_IFDIR
	}
	return kind | a.Mode&permissions
}

// sectors is st_blocks.
func sectors(a replica.Attr) uint64 { return uint64(a.Size+sectorSize-1) / sectorSize }
