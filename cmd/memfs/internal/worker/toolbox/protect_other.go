//go:build !linux

package toolbox

import (
	"errors"
	"os/exec"
	"syscall"
)

// protections has nothing to offer but a process group of its own.
func protections(o Options) []func(*exec.Cmd) error {
	return []func(*exec.Cmd) error{func(c *exec.Cmd) error {
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if o.User != nil {
			c.SysProcAttr.Credential = &syscall.Credential{Uid: o.User.UID, Gid: o.User.GID, Groups: o.User.Groups}
		}
		return nil
	}}
}

// initialize is for systems with namespaces.
func initialize(string) (int, error) { return 1, errors.New("tools cannot be isolated on this system") }

// killOrphans has no way to find what left the process group.
func killOrphans() error { return nil }
