//go:build linux || darwin

package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"

	"memfs/store/replica"
)

// filesystem answers the kernel's requests from a tree.
//
// Requests that are not a method of filesystem are answered with ENOSYS by the
// embedded default, and the kernel does not ask again: it lets fallocate,
// O_TMPFILE, setxattr and removexattr fail with EOPNOTSUPP and ioctl with
// ENOTTY, copies itself for copy_file_range, finds SEEK_HOLE and SEEK_DATA by
// the size, checks permissions itself (default_permissions) and keeps locks to
// itself.
//
// The cancel channel says that the caller got a signal. Go programs get one
// for every preempted goroutine, and an EINTR from a local file surprises
// every program, so that only Read looks at it, while it waits for the network.
type filesystem struct {
	fuse.RawFileSystem
	tree     Tree
	storeID  string
	describe func() any // the root's user.memfs.status
	notifier *notifier
	log      *zap.Logger
}

func newFilesystem(tree Tree, storeID string, log *zap.Logger) *filesystem {
	return &filesystem{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		tree:          tree,
		storeID:       storeID,
		describe:      func() any { return tree.Status() },
		notifier:      newNotifier(tree, log),
		log:           log,
	}
}

// String is the name that go-fuse gives to the filesystem's type by default.
func (f *filesystem) String() string { return typeName }

// Forget gives kernel references back.
func (f *filesystem) Forget(node, n uint64) { f.tree.Forget(replica.Ino(node), n) }

// inode is the file or directory that a request is about.
func inode(header *fuse.InHeader) replica.Ino { return replica.Ino(header.NodeId) }
