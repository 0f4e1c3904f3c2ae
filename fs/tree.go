//go:build linux || darwin

package fs

import (
	"context"

	"memfs/store/replica"
)

// Tree is what a mount needs of a replica. Every method is safe for concurrent
// use, and none waits for the network except Read, Write and Setattr, for
// content that was not fetched yet.
type Tree interface {
	// Lookup, Ref, Create and Mkdir each hand out one kernel reference, which
	// Forget gives back.
	Lookup(parent replica.Ino, name string) (replica.Attr, error)
	Ref(ino replica.Ino) (replica.Attr, bool)
	Forget(ino replica.Ino, n uint64)
	Create(parent replica.Ino, name string, mode, uid, gid uint32) (replica.Attr, error)
	Mkdir(parent replica.Ino, name string, mode, uid, gid uint32) (replica.Attr, error)

	Getattr(ino replica.Ino) (replica.Attr, error)
	Setattr(ctx context.Context, ino replica.Ino, s replica.SetAttr) (replica.Attr, error)
	ReadDir(ino replica.Ino, after uint64, max int) ([]replica.Dirent, error)
	Parent(ino replica.Ino) (replica.Ino, error)
	Unlink(parent replica.Ino, name string) error
	Rmdir(parent replica.Ino, name string) error
	Rename(parent replica.Ino, name string, newParent replica.Ino, newName string, noReplace bool) error

	Read(ctx context.Context, ino replica.Ino, p []byte, off int64) (int, error)
	Write(ctx context.Context, ino replica.Ino, p []byte, off int64) (int, error)
	Fsync(ino replica.Ino) error

	Usage() replica.Usage
	Inspect(ino replica.Ino) (replica.Inspection, error)
	Status() replica.Status
	Watch(f func([]replica.Change))
}

var _ Tree = (*replica.Replica)(nil)
