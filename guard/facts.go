package guard

import "fmt"

// Facts are what a host looks like from this process. Probe gathers them; a
// test writes them down.
type Facts struct {
	// OS is "linux" or "darwin".
	OS string
	// Kernel is the kernel's release, such as 6.1.0-13-amd64.
	Kernel string
	// Container is the kind of container this runs in; "" for none.
	Container string
	// Root reports whether the effective user is root.
	Root bool
	// Device is the error of opening /dev/fuse for reading and writing.
	Device error
	// SysAdmin reports the capability to mount.
	SysAdmin bool
	// TrialMount is the error of a mount that was made and taken back at once;
	// tried only where Device and SysAdmin let it.
	TrialMount error
	// Helper is where fusermount3 is (macFUSE's mount_macfuse on macOS); ""
	// where it is not.
	Helper string
	// HelperPrivileged reports that the helper gets root's rights: by its setuid
	// bit, and because nothing takes that bit's effect away.
	HelperPrivileged bool
	// NoNewPrivileges reports that setuid programs have no effect here.
	NoNewPrivileges bool
	// AppArmor is the profile that confines this process, and its mode, such as
	// "docker-default (enforce)"; "" where none does.
	AppArmor string
	// UserAllowOther reports the line user_allow_other in /etc/fuse.conf.
	UserAllowOther bool
	// NoUserNamespaces says why an ordinary user cannot have a namespace; ""
	// where that works.
	NoUserNamespaces string
	// MountRoot is where mounts go, State where replicas are kept.
	MountRoot, State Place
	// Stale are memfs mounts whose process died.
	Stale []string
}

// Place is a directory that may not exist yet.
type Place struct {
	Path string
	// Existing is Path, or the nearest directory above it that exists.
	Existing string
	// Filesystem is the kind of filesystem there: "ext4", "overlay", "tmpfs" ...
	// "" where that cannot be told.
	Filesystem string
	// Unsafe says why Path cannot hold secrets, such as "other users can look
	// into it"; "" where it can, or does not exist.
	Unsafe string
	// Ours reports that Path exists, is this user's, and is not there for
	// anything but memfs: its mode may be changed.
	Ours bool
	// Err is why nothing can be made there; nil where it can.
	Err error
}

// release reads the leading numbers of a kernel's release.
func release(kernel string) (major, minor int, ok bool) {
	n, _ := fmt.Sscanf(kernel, "%d.%d", &major, &minor)
	return major, minor, n == 2
}
