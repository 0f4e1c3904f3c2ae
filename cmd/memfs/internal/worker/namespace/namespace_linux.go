package namespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	memfs "memfs/fs"
	"memfs/fs/mountpoint"
)

// Isolate has a command start in a mount namespace of its own. An ordinary
// user's is in a user namespace too, in which the user is root.
func Isolate(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Cloneflags |= unix.CLONE_NEWNS
	if os.Geteuid() == 0 {
		return
	}
	c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
	c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
}

// Leave has a command start as the user that this process is outside of its user
// namespace, where there is one: with no power over this process.
func Leave(c *exec.Cmd) error {
	uid, err := outside("/proc/self/uid_map")
	if err != nil || uid == 0 {
		return err
	}
	gid, err := outside("/proc/self/gid_map")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: 0, Size: 1}},
	}
	return err
}

// outside is what a map of ids has root be.
func outside(path string) (id int, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Sscan(string(text), new(int), &id)
	}
	return id, err
}

// Enter makes a process's new mount namespace its own: what is mounted in it
// stays in it, what the system unmounts goes here too, and of the memfs mounts
// that were copied into it only those in keep stay. A mount that another
// namespace knows cannot be unmounted for good.
func Enter(keep []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to this namespace: %w", err)
	}
	mounts, err := memfs.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if slices.Contains(keep, m.Path) {
			continue
		}
		// An ordinary user cannot take away a more privileged namespace's mounts,
		// nor see into everybody's directories.
		err := unix.Unmount(m.Path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("take the mount at %s out of this namespace: %w", m.Path, err)
		}
	}
	return nil
}

// size is what mount points in a covered directory may take.
const size = "size=1m,nr_inodes=1k,mode=0755"

// ErrCover says that a directory cannot be covered.
var ErrCover = errors.New("cannot isolate mounts there")

// Cover mounts an empty filesystem on a directory of this namespace, so that
// mount points in it are nobody else's. The directory is made where it is
// missing, and stays. One that any of needed lies in is refused.
func Cover(dir string, needed ...string) error {
	for _, path := range needed {
		if mountpoint.Inside(path, dir) || dir == "/" {
			return fmt.Errorf("%w: %s holds %s", ErrCover, dir, path)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &mountpoint.ParentError{Path: filepath.Join(dir, "*"), Err: err}
	}
	if err := unix.Mount("memfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, size); err != nil {
		return fmt.Errorf("cover %s: %w", dir, err)
	}
	return os.Chmod(dir, 0o755)
}
