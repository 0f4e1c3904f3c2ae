// Package fs shows a replica as a mounted filesystem: it turns each kernel
// request into one call of the replica and each error into one errno, decides
// what the kernel may cache, tells it what changed behind its back, and mounts
// and unmounts.
//
// It speaks go-fuse's raw protocol: a replica's inode numbers are the kernel's
// node ids, so there is no second tree beside the replica's, and a kernel
// reference is a replica reference. No file or directory has a handle.
//
// A process must never use a mount that it serves itself: the request waits
// for a goroutine that may be waiting for the request. Nothing here does.
package fs
