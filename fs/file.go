//go:build linux || darwin

package fs

import (
	"context"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// Read fills buf from a file. It may wait for the network where the content
// was never needed here, and only then does a signal to the caller end it.
func (f *filesystem) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	ino := inode(&in.InHeader)
	n, err := f.tree.Read(&fuse.Context{Caller: in.Caller, Cancel: cancel}, ino, buf, int64(in.Offset))
	if err != nil {
		return nil, f.status(err, "read", ino, "")
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

// Write is in the journal when it is answered (R3). It is short where only a
// part may be kept (R11).
func (f *filesystem) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	ino := inode(&in.InHeader)
	n, err := f.tree.Write(context.Background(), ino, data, int64(in.Offset))
	if err == nil && in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
		err = f.afterWrite(ino)
	}
	return uint32(n), f.status(err, "write", ino, "")
}

// afterWrite takes away the bits that a file loses when an ordinary user
// writes to it.
func (f *filesystem) afterWrite(ino replica.Ino) error {
	var set replica.SetAttr
	if err := f.dropPrivileges(ino, &set); err != nil || set.Mode == nil {
		return err
	}
	_, err := f.tree.Setattr(context.Background(), ino, set)
	return err
}

// Fsync returns when the file is on disk.
func (f *filesystem) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	ino := inode(&in.InHeader)
	return f.status(f.tree.Fsync(ino), "fsync", ino, "")
}
