//go:build linux || darwin

package fs

import "fmt"

// HungError says that a mount of a killed process hangs and that this user
// cannot end it.
type HungError struct {
	Path string
	PID  int
}

func (e *HungError) Error() string {
	return fmt.Sprintf("the mount of the killed process %d at %s hangs: sudo umount -f %s", e.PID, e.Path, e.Path)
}
