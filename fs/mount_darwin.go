package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mountPolicy sets how to mount.
func mountPolicy(o *fuse.MountOptions, strict bool) {
	if strict {
		o.Options = append(o.Options, "rdonly")
	}
}

// mountable: what is missing is told by go-fuse, which looks for macFUSE.
func mountable(Options) error { return nil }

// awaitReady waits for macFUSE's helper, which goes on after the server began.
func awaitReady(server *fuse.Server) error { return server.WaitMount() }

// unmount fails with EBUSY while the mount is in use.
func unmount(path string) error { return unix.Unmount(path, 0) }

// unmountLazily: macOS knows no lazy unmount, so users of the mount lose it.
func unmountLazily(path string) error { return unix.Unmount(path, unix.MNT_FORCE) }
