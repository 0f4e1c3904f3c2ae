package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// InForeground reports whether this process is in the foreground of its
// terminal: what is typed there to interrupt then reaches its children too.
func InForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = tty.Close() }()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
