package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncData leaves out metadata that reading back does not need (times).
func syncData(f *os.File) error { return withFD(f, unix.Fdatasync) }

// Filesystem names the kind of filesystem the directory is on, in hex where
// it is not a known one. On other systems than Linux it is "".
func (d *Dir) Filesystem() (string, error) {
	var st unix.Statfs_t
	if err := d.at(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return "", d.pathError(KindStat, "", err)
	}
	switch int64(st.Type) {
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay", nil
	case unix.TMPFS_MAGIC:
		return "tmpfs", nil
	case unix.RAMFS_MAGIC:
		return "ramfs", nil
	case unix.EXT4_SUPER_MAGIC: // ext2 and ext3 have the same
		return "ext4", nil
	case unix.XFS_SUPER_MAGIC:
		return "xfs", nil
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", nil
	case unix.FUSE_SUPER_MAGIC:
		return "fuse", nil
	case unix.NFS_SUPER_MAGIC:
		return "nfs", nil
	}
	return fmt.Sprintf("%#x", uint64(st.Type)), nil
}
