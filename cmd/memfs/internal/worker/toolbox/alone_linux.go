package toolbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"memfs/fs/mountpoint"
)

// alone shows the tools nothing of the directory that dir is in but dir, with
// what is mounted below it. Where other mounts that they need are there too, it
// shows all.
func alone(dir string, keep []string) error {
	parent := filepath.Dir(dir)
	for _, path := range keep {
		if mountpoint.Inside(path, parent) && !mountpoint.Inside(path, dir) {
			return nil
		}
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	const flags, data = unix.MS_NOSUID | unix.MS_NODEV, "size=4k,mode=0755"
	if err := unix.Mount("tmpfs", parent, "tmpfs", flags, data); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("tmpfs", parent, "tmpfs", flags|unix.MS_REMOUNT|unix.MS_RDONLY, data)
}
