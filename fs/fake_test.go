//go:build linux

package fs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// fakeTree knows which inodes have a name, and nothing else.
type fakeTree struct {
	Tree
	linked map[replica.Ino]bool
}

func (f *fakeTree) Getattr(ino replica.Ino) (replica.Attr, error) {
	if f.linked[ino] {
		return replica.Attr{Ino: ino, Nlink: 1}, nil
	}
	return replica.Attr{}, replica.ErrStale
}

func (f *fakeTree) Inspect(replica.Ino) (replica.Inspection, error) {
	return replica.Inspection{Path: "/dir"}, nil
}

// notice is one notification that a fakeKernel got.
type notice struct {
	kind          string
	parent, child uint64
	name          string
}

// fakeKernel writes down what it is told. While its gate is not nil each
// notification waits there.
type fakeKernel struct {
	gate chan struct{}
	code fuse.Status

	mu    sync.Mutex
	heard []notice
}

func (k *fakeKernel) tell(n notice) fuse.Status {
	if k.gate != nil {
		<-k.gate
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heard = append(k.heard, n)
	return k.code
}

func (k *fakeKernel) notices() []notice {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]notice(nil), k.heard...)
}

func (k *fakeKernel) EntryNotify(parent uint64, name string) fuse.Status {
	return k.tell(notice{"entry", parent, 0, name})
}

func (k *fakeKernel) DeleteNotify(parent, child uint64, name string) fuse.Status {
	return k.tell(notice{"delete", parent, child, name})
}

func (k *fakeKernel) InodeNotify(node uint64, off, length int64) fuse.Status {
	return k.tell(notice{"inode", node, 0, ""})
}
