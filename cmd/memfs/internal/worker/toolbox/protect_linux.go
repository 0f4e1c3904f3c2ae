package toolbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// protection is what a child does before it runs the tools. It has the
// privileges for it, and the tools have none any more.
type protection struct {
	// Namespaces: the child is the first process of a PID namespace, and has a
	// mount namespace.
	Namespaces bool
	// Hide are directories and files that the tools do not see. Keep are the only memfs
	// mounts that they do see: a mount that is known to another namespace
	// cannot be unmounted for good.
	Hide, Keep []string
	// Alone is a directory beside which the tools see no other.
	Alone string
	User  *User
	// MapUser runs the tools in a user namespace where they have the ids that
	// root of this one stands for.
	MapUser *mapping
}

type mapping struct{ UID, GID int }

// protections are the ways to start the child, the best first.
func protections(o Options) []func(*exec.Cmd) error {
	if os.Geteuid() != 0 {
		return []func(*exec.Cmd) error{func(c *exec.Cmd) error {
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		}}
	}
	full := protection{Namespaces: true, Hide: o.Hide, Keep: o.AllowedRoots, Alone: o.Alone, User: o.User, MapUser: outside()}
	bare := protection{User: o.User}
	return []func(*exec.Cmd) error{full.set, bare.set}
}

func (p protection) set(c *exec.Cmd) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	c.Env = append(c.Env[:len(c.Env):len(c.Env)], initVariable+"="+string(text))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.Namespaces {
		c.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// outside is the user that root of this user namespace is outside of it; nil
// in the system's own.
func outside() *mapping {
	var m mapping
	for file, id := range map[string]*int{"/proc/self/uid_map": &m.UID, "/proc/self/gid_map": &m.GID} {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil
		}
		var inside, count int
		if n, err := fmt.Sscan(string(text), &inside, id, &count); n != 3 || err != nil || count != 1 {
			return nil
		}
	}
	return &m
}
