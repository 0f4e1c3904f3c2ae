package disk

import "golang.org/x/sys/unix"

// Free is how many bytes this process may still write to the filesystem that
// the directory is on.
func (d *Dir) Free() (int64, error) {
	var st unix.Statfs_t
	if err := d.at(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return 0, d.pathError(KindStat, "", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
