//go:build !linux

package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// notDumpable rules out a core file, the part of it that other systems have.
func notDumpable() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("rule out core files: %w", err)
	}
	return nil
}
