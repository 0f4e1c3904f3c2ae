package replica

import (
	"slices"

	"memfs/store/replica/disk"
)

// Volatile reports whether a state directory lies on a filesystem that ends
// with the container or the host's next boot, and which kind it is (R15). It
// makes the directory if it is missing.
func Volatile(stateDir string) (kind string, volatile bool, err error) {
	dir, err := disk.Open(stateDir, nil)
	if err != nil {
		return "", false, err
	}
	defer dir.Close()
	kind, err = dir.Filesystem()
	return kind, slices.Contains([]string{"overlay", "tmpfs", "ramfs"}, kind), err
}
