package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func dumpable(yes bool) error {
	var value uintptr
	if yes {
		value = 1
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, value, 0, 0, 0); err != nil {
		return fmt.Errorf("set whether the process is dumpable: %w", err)
	}
	return nil
}
