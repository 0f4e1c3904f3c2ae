package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"memfs/cmd/memfs/internal/worker/namespace"
)

// initialize is the first process of the child: it gives up what the tools
// must not have, starts the process that runs them, and ends with it. In a PID
// namespace it is the init process: what it leaves is killed by the kernel.
func initialize(text string) (int, error) {
	pid, err := protected(text)
	if err != nil {
		if e := json.NewEncoder(os.Stdout).Encode(answer{Error: err.Error()}); e != nil {
			return 1, errors.Join(err, e)
		}
		return 1, err
	}
	_ = os.Stdin.Close()
	_ = os.Stdout.Close()
	return reap(pid)
}

// protected starts the process that runs the tools. What is given up belongs
// to the thread, and is inherited from it.
func protected(text string) (int, error) {
	var p protection
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return 0, err
	}
	runtime.LockOSThread()
	if p.Namespaces {
		if err := p.shield(); err != nil {
			return 0, err
		}
	}
	if err := dropPrivileges(); err != nil {
		return 0, err
	}
	process, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Dir: "/", Env: withoutInit(os.Environ()), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: p.attributes(),
	})
	if err != nil {
		return 0, fmt.Errorf("run as another user: %w", err)
	}
	return process.Pid, nil
}

func (p protection) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	switch {
	case p.User != nil:
		a.Credential = &syscall.Credential{Uid: p.User.UID, Gid: p.User.GID, Groups: p.User.Groups}
	case p.MapUser != nil:
		a.Cloneflags = unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: p.MapUser.UID, HostID: 0, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: p.MapUser.GID, HostID: 0, Size: 1}}
	}
	return a
}

func withoutInit(environ []string) []string {
	kept := []string{} // nil would be all of it
	for _, pair := range environ {
		if !strings.HasPrefix(pair, initVariable+"=") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// shield shows the tools their own processes and mounts only, and nothing where
// memfs keeps its state and secrets.
func (p *protection) shield() error {
	if err := namespace.Enter(p.Keep); err != nil {
		return err
	}
	err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	switch {
	case errors.Is(err, unix.EPERM):
		// Parts of /proc are hidden from this user namespace. The kernel's own
		// checks have to do, and ids cannot be mapped: that takes /proc.
		p.MapUser = nil
	case err != nil:
		return fmt.Errorf("show the tools their own processes only: %w", err)
	}
	for _, path := range p.Hide {
		if err := hide(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("hide %s from the tools: %w", path, err)
		}
	}
	if p.Alone != "" {
		if err := alone(p.Alone, p.Keep); err != nil {
			return fmt.Errorf("hide other sessions' directories from the tools: %w", err)
		}
	}
	return nil
}

// hide puts an empty directory over a directory, and nothing over a file.
func hide(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "size=4k,mode=0")
	default:
		return unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
	}
}

// dropPrivileges makes sure that nothing that this thread starts has a
// capability, or can get one.
func dropPrivileges() error {
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel knows no more
		}
		if err != nil {
			return fmt.Errorf("drop capabilities: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	if err == nil {
		sets[0].Inheritable, sets[1].Inheritable = 0, 0
		err = unix.Capset(&header, &sets[0])
	}
	if err != nil {
		return fmt.Errorf("drop inheritable capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// reap waits for every process that is left to this one until pid has ended,
// and returns its exit code. An agent's command can stop pid, which would answer
// no call any more: it goes on.
func reap(pid int) (int, error) {
	for {
		var status unix.WaitStatus
		changed, err := unix.Wait4(-1, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1, err
		case changed != pid:
		case status.Stopped():
			if err := unix.Kill(pid, unix.SIGCONT); err != nil {
				return 1, err
			}
		case status.Exited():
			return status.ExitStatus(), nil
		default:
			return 1, nil
		}
	}
}
