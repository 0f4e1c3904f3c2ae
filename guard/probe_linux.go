package guard

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const fuseDevice = "/dev/fuse"

// probeFUSE looks for what mounting needs on Linux.
func probeFUSE(f *Facts) {
	status, _ := os.ReadFile("/proc/self/status")
	f.SysAdmin = capable(status)
	f.NoNewPrivileges = field(status, "NoNewPrivs") == "1"
	f.Container = containerKind("/", os.Getenv)
	f.AppArmor = appArmor("/proc/self/attr")
	f.UserAllowOther = allowsOther("/etc/fuse.conf")
	f.NoUserNamespaces = noUserNamespaces("/proc/sys")
	f.Helper, f.HelperPrivileged = helper()

	device, err := os.OpenFile(fuseDevice, os.O_RDWR, 0)
	f.Device = err
	if err != nil {
		return
	}
	defer device.Close()
	if f.SysAdmin {
		f.TrialMount = trialMount(device)
	}
}

// trialMount mounts and unmounts at once: what capabilities promise, a
// security module may still forbid. Nothing is served, so nobody must look at
// the directory meanwhile; it is private and has a name of its own.
func trialMount(device *os.File) error {
	dir, err := os.MkdirTemp("", "memfs-doctor-")
	if err != nil {
		return nil // nowhere to try, so nothing is known against it
	}
	defer os.Remove(dir)
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", device.Fd(), os.Geteuid(), os.Getegid())
	if err := unix.Mount("memfs-doctor", dir, "fuse.memfs-doctor", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return err
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// capable reports CAP_SYS_ADMIN among the effective capabilities.
func capable(status []byte) bool {
	caps, err := strconv.ParseUint(field(status, "CapEff"), 16, 64)
	return err == nil && caps&(1<<unix.CAP_SYS_ADMIN) != 0
}

// field reads one value of /proc/self/status.
func field(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// containerKind names the container that a root filesystem and an environment
// belong to.
func containerKind(root string, getenv func(string) string) string {
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}
	read := func(path string) string {
		text, _ := os.ReadFile(filepath.Join(root, path))
		return strings.TrimSpace(string(text))
	}
	switch named := read("run/systemd/container"); {
	case strings.Contains(strings.ToLower(read("proc/version")), "gvisor"):
		return "gvisor"
	case getenv("KUBERNETES_SERVICE_HOST") != "" || exists("var/run/secrets/kubernetes.io"):
		return "kubernetes"
	case exists("run/.containerenv"):
		return "podman"
	case exists(".dockerenv"):
		return "docker"
	case named != "":
		return named
	default:
		return getenv("container") // systemd-nspawn, LXC
	}
}

// appArmor reads the profile of this process. Where AppArmor is not the module
// that answers, the second file is another's or cannot be read.
func appArmor(attr string) string {
	text, err := os.ReadFile(filepath.Join(attr, "apparmor/current"))
	if err != nil {
		text, _ = os.ReadFile(filepath.Join(attr, "current"))
	}
	profile := strings.TrimRight(string(text), "\x00\n")
	if !strings.HasSuffix(profile, "(enforce)") && !strings.HasSuffix(profile, "(complain)") {
		return "" // unconfined, or a label of SELinux
	}
	return profile
}

// allowsOther looks for the line user_allow_other in fusermount3's settings.
func allowsOther(config string) bool {
	file, err := os.Open(config)
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "user_allow_other" {
			return true
		}
	}
	return false
}

// noUserNamespaces says which setting keeps ordinary users from them.
func noUserNamespaces(sys string) string {
	for _, s := range []struct{ path, bad string }{
		{"user/max_user_namespaces", "0"},
		{"kernel/unprivileged_userns_clone", "0"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1"},
	} {
		text, err := os.ReadFile(filepath.Join(sys, s.path))
		if err == nil && strings.TrimSpace(string(text)) == s.bad {
			return strings.ReplaceAll(s.path, "/", ".") + " is " + s.bad
		}
	}
	return ""
}

// helper finds fusermount3 and reports whether it is setuid root.
func helper() (path string, privileged bool) {
	for _, name := range []string{"fusermount3", "/bin/fusermount3", "fusermount"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		privileged = unix.Stat(path, &st) == nil && st.Uid == 0 && st.Mode&unix.S_ISUID != 0
		return path, privileged
	}
	return "", false
}
