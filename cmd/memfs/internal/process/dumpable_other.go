//go:build !linux

package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// dumpable rules out a core file, the part of it that other systems have.
func dumpable(yes bool) error {
	if yes {
		return nil
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("rule out core files: %w", err)
	}
	return nil
}
