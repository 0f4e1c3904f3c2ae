package mountpoint

import (
	"errors"
	"fmt"

	"memfs/fs"
)

// ErrNested: a mount path lies in another memory store's mount. Its directory
// would be made in that store, and it would go when that one is unmounted.
var ErrNested = errors.New("a store cannot be mounted inside another store's mount")

// CheckNested says which of the paths of one attach lies in a mount of memfs, or
// below another of them.
func CheckNested(paths []string) error {
	mounts, err := fs.Mounts()
	if err != nil {
		return err
	}
	for _, path := range paths {
		for _, m := range mounts {
			if below(path, m.Path) {
				return fmt.Errorf("%w: %s lies in %s; choose a path outside of it", ErrNested, path, m.Path)
			}
		}
		for _, other := range paths {
			if below(path, other) {
				return fmt.Errorf("%w: %s lies in %s; choose a path outside of it", ErrNested, path, other)
			}
		}
	}
	return nil
}

// below reports whether path lies below a mount, also where links lead there.
// By name first: looking into a mount can wait for its process.
func below(path, mount string) bool {
	inside := func(path string) bool { return path != mount && Inside(path, mount) }
	return inside(path) || inside(resolved(path))
}
