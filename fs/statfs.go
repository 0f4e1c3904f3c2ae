//go:build linux || darwin

package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store"
)

// StatFs is df: bytes are the memories' contents, inodes the memories, and
// the totals what the store may hold.
func (f *filesystem) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	use := f.tree.Usage()
	free := max(0, use.MaxBytes-use.Bytes)
	out.Bsize = blockSize
	out.Frsize = blockSize
	out.Blocks = uint64(use.MaxBytes) / blockSize
	out.Bfree = uint64(free) / blockSize
	out.Bavail = out.Bfree
	out.Files = uint64(use.MaxMemories)
	out.Ffree = uint64(max(0, use.MaxMemories-use.Memories))
	out.NameLen = store.MaxSegment
	return fuse.OK
}
