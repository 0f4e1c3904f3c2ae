package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

func kernel(f Facts) Check {
	c := Check{Name: "kernel", Status: OK, Detail: f.OS + " " + f.Kernel}
	major, minor, ok := release(f.Kernel)
	if f.OS != "linux" || !ok || major > 5 || (major == 5 && minor >= 11) {
		return c
	}
	// FUSE_HANDLE_KILLPRIV_V2 came with Linux 5.11.
	c.Status = Warn
	c.Detail += ": FUSE is older than what memfs is made for"
	c.Remedy = "use a kernel of 5.11 or newer"
	return c
}

func container(f Facts) Check {
	switch f.Container {
	case "":
		return Check{Name: "container", Status: OK, Detail: "none"}
	case "gvisor":
		return Check{
			Name: "container", Status: Warn, Detail: "gVisor: its FUSE is not the Linux kernel's",
			Remedy: "run memfs outside the sandbox, or use a runtime with a Linux kernel (runc, Kata, Firecracker)",
		}
	default:
		return Check{Name: "container", Status: OK, Detail: f.Container}
	}
}

func device(f Facts) Check {
	c := Check{Name: "/dev/fuse", Status: OK, Detail: "can be opened"}
	if f.Device == nil {
		return c
	}
	c.Status, c.Detail = Fail, reason(f.Device)
	give := "give the container --device /dev/fuse"
	switch {
	case f.Container != "" && !errors.Is(f.Device, fs.ErrPermission):
		c.Remedy = give
	case f.Container != "" && f.Root:
		c.Remedy = give + " (its device rules forbid it now)"
	case errors.Is(f.Device, fs.ErrPermission):
		c.Remedy = "as root: chmod 666 /dev/fuse (a udev rule keeps it: KERNEL==\"fuse\", MODE=\"0666\")"
	default:
		c.Remedy = "as root: modprobe fuse"
	}
	return c
}

func privileges(f Facts) Check {
	c := Check{Name: "mount", Status: OK}
	switch {
	case f.SysAdmin && f.Device != nil:
		c.Detail = "directly, with CAP_SYS_ADMIN (not tried without /dev/fuse)"
	case f.SysAdmin && f.TrialMount == nil:
		c.Detail = "directly, with CAP_SYS_ADMIN"
	case f.SysAdmin:
		c.Status, c.Detail = Fail, "CAP_SYS_ADMIN is there, but a trial mount failed: "+reason(f.TrialMount)
		if f.AppArmor != "" {
			c.Detail += "; AppArmor confines this process by " + f.AppArmor
		}
		c.Remedy = "a security module forbids mount(2); give the container --security-opt apparmor=unconfined (and seccomp=unconfined where a profile of your own applies)"
		if errors.Is(f.TrialMount, syscall.ENODEV) {
			c.Remedy = "as root on the host: modprobe fuse"
		}
	case f.Root:
		c.Status, c.Detail = Fail, "root without CAP_SYS_ADMIN"
		c.Remedy = "give the container --cap-add SYS_ADMIN (and --security-opt apparmor=unconfined on AppArmor hosts)"
	case f.Helper == "":
		c.Status, c.Detail = Fail, "fusermount3 is missing"
		c.Remedy = "as root: apt-get install fuse3 (dnf install fuse3, apk add fuse3), or run memfs as root"
	case f.NoNewPrivileges:
		c.Status, c.Detail = Fail, f.Helper+" cannot get root's rights: no_new_privs is set"
		c.Remedy = "start memfs without it (systemd: NoNewPrivileges=no; Docker: no --security-opt no-new-privileges), or as root"
	case !f.HelperPrivileged:
		c.Status, c.Detail = Fail, f.Helper+" is not setuid root"
		c.Remedy = "as root: chmod u+s " + f.Helper
	default:
		c.Detail = "through " + f.Helper
	}
	return c
}

// confinement says what takes rights away besides capabilities. Whether it
// matters, the check of the mount tells.
func confinement(f Facts) Check {
	var by []string
	if f.AppArmor != "" {
		by = append(by, "AppArmor by "+f.AppArmor)
	}
	if f.NoNewPrivileges {
		by = append(by, "no_new_privs: setuid programs such as fusermount3 have no effect")
	}
	c := Check{Name: "confinement", Status: OK, Detail: strings.Join(by, "; ")}
	if by == nil {
		c.Detail = "none (AppArmor, no_new_privs)"
	}
	return c
}

func allowOther(f Facts, o Options) Check {
	c := Check{Name: "allow-other", Status: OK}
	switch {
	case f.SysAdmin:
		c.Detail = "possible, mounting directly"
	case f.UserAllowOther:
		c.Detail = "possible, user_allow_other is set"
	case o.AllowOther:
		c.Status, c.Detail = Fail, "user_allow_other is not set in /etc/fuse.conf"
		c.Remedy = "as root: echo user_allow_other >> /etc/fuse.conf"
	default:
		c.Detail = "not possible (user_allow_other is not set), and not asked for"
	}
	return c
}

func namespaces(f Facts) Check {
	c := Check{Name: "isolation", Status: OK}
	switch {
	case f.SysAdmin:
		c.Detail = "mount namespaces, with CAP_SYS_ADMIN"
	case f.NoUserNamespaces == "":
		c.Detail = "user namespaces"
	default:
		c.Status, c.Detail = Warn, "no user namespaces: "+f.NoUserNamespaces
		c.Remedy = "sessions share one mount namespace, so no store twice at one path; run memfs as root, or allow them: sysctl user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return c
}

func macFUSE(f Facts) Check {
	if f.Helper == "" {
		return Check{
			Name: "macFUSE", Status: Fail, Detail: "not installed",
			Remedy: "brew install --cask macfuse, then allow its system extension in System Settings, Privacy & Security",
		}
	}
	return Check{Name: "macFUSE", Status: OK, Detail: f.Helper}
}

func mountRoot(f Facts) Check {
	p := f.MountRoot
	c := Check{Name: "mount root", Status: OK, Detail: p.Path + " is writable"}
	switch {
	case p.Err != nil:
		c.Status, c.Detail = Fail, placeFault(p)
		c.Remedy = placeRemedy(p, "755", "--root DIR (sessions prescribe /mnt/memory)")
	case p.Existing != p.Path:
		c.Detail = p.Path + " can be made"
	}
	return c
}

func stale(f Facts) Check {
	if len(f.Stale) == 0 {
		return Check{Name: "stale mounts", Status: OK, Detail: "none"}
	}
	return Check{
		Name: "stale mounts", Status: Warn, Detail: "their process died: " + strings.Join(f.Stale, ", "),
		Remedy: "the next attach at the same path cleans up by itself; otherwise: memfs unmount " + strings.Join(f.Stale, " "),
	}
}

func state(f Facts) Check {
	p := f.State
	c := Check{Name: "state directory", Status: OK, Detail: p.Path + " can be made"}
	if p.Existing == p.Path {
		c.Detail = p.Path + ", this user's and closed to others"
	}
	if p.Filesystem != "" {
		c.Detail += ", on " + p.Filesystem
	}
	switch {
	case p.Err != nil:
		c.Status, c.Detail = Fail, placeFault(p)
		c.Remedy = placeRemedy(p, "700", "--state-dir DIR")
	case p.Unsafe != "":
		c.Status, c.Detail = Fail, p.Path+": "+p.Unsafe
		c.Remedy = "choose a directory of your own with --state-dir DIR: this one is not memfs's alone"
		if p.Ours {
			c.Remedy = fmt.Sprintf("chmod 700 %s, or use --state-dir DIR", p.Path)
		}
	case slices.Contains([]string{"overlay", "tmpfs", "ramfs"}, p.Filesystem):
		c.Status = Warn
		c.Detail = fmt.Sprintf("%s is on %s: edits that were not sent end with the container or the machine", p.Path, p.Filesystem)
		c.Remedy = "put a volume there (docker run -v memfs-state:" + p.Path + "), or name one with --state-dir"
	}
	return c
}

// placeFault says why nothing can be made in a place.
func placeFault(p Place) string {
	if p.Existing == p.Path {
		return p.Path + ": " + reason(p.Err)
	}
	return fmt.Sprintf("%s cannot be made in %s: %s", p.Path, p.Existing, reason(p.Err))
}

// placeRemedy says how a directory becomes usable, and which flag names another.
func placeRemedy(p Place, mode, flag string) string {
	switch {
	case errors.Is(p.Err, syscall.ENOTCONN):
		return "a dead mount is in the way: memfs unmount " + p.Existing
	case errors.Is(p.Err, syscall.EROFS):
		return "mount a writable volume at " + p.Path + ", or use " + flag
	case errors.Is(p.Err, syscall.ENOTDIR), errors.Is(p.Err, syscall.ENOENT):
		return fmt.Sprintf("move %s away, or use %s", p.Existing, flag)
	case p.Existing == p.Path: // it may be there for others
		return "choose a directory of your own with " + flag
	default:
		return fmt.Sprintf("sudo install -d -m %s -o \"$USER\" %s, or use %s", mode, p.Path, flag)
	}
}

// reason is an error without the path that the detail names already.
func reason(err error) string { return errno(err).Error() }
