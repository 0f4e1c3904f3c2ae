package guard_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/guard"
)

var options = guard.Options{Root: "/mnt/memory", StateDir: "/var/lib/memfs"}

// host is root on a plain machine, where everything works.
func host(edits ...func(*guard.Facts)) guard.Facts {
	f := guard.Facts{
		OS: "linux", Kernel: "6.18.44", Root: true, SysAdmin: true,
		MountRoot: guard.Place{Path: "/mnt/memory", Existing: "/mnt"},
		State:     guard.Place{Path: "/var/lib/memfs", Existing: "/var/lib"},
	}
	for _, edit := range edits {
		edit(&f)
	}
	return f
}

// ordinary is a user with fuse3 installed.
func ordinary(f *guard.Facts) {
	f.Root, f.SysAdmin = false, false
	f.Helper, f.HelperPrivileged = "/usr/bin/fusermount3", true
}

func in(kind string) func(*guard.Facts) { return func(f *guard.Facts) { f.Container = kind } }

func noDevice(err error) func(*guard.Facts) {
	return func(f *guard.Facts) { f.Device = &fs.PathError{Op: "open", Path: "/dev/fuse", Err: err} }
}

func TestJudge_Verdicts(t *testing.T) {
	for _, c := range []struct {
		name    string
		facts   guard.Facts
		options guard.Options
		verdict guard.Verdict
		// check is the one that tells, with its status and part of its remedy.
		check  string
		status guard.Status
		remedy string
	}{
		{"root", host(), options, guard.VerdictFUSE, "mount", guard.OK, ""},
		{"user with fuse3", host(ordinary), options, guard.VerdictFUSE, "mount", guard.OK, ""},
		{"container with all it needs", host(in("docker")), options, guard.VerdictFUSE, "container", guard.OK, ""},

		{"no module", host(noDevice(syscall.ENOENT)), options, guard.VerdictDirectorySync, "/dev/fuse", guard.Fail, "modprobe fuse"},
		{"device 0600", host(ordinary, noDevice(syscall.EACCES)), options, guard.VerdictDirectorySync, "/dev/fuse", guard.Fail, "chmod 666 /dev/fuse"},
		{"container without device", host(in("docker"), noDevice(syscall.ENOENT)), options, guard.VerdictDirectorySync, "/dev/fuse", guard.Fail, "--device /dev/fuse"},
		{"container device rules", host(in("podman"), noDevice(syscall.EPERM)), options, guard.VerdictDirectorySync, "/dev/fuse", guard.Fail, "--device /dev/fuse"},
		{"container user, device 0600", host(ordinary, in("docker"), noDevice(syscall.EACCES)), options, guard.VerdictDirectorySync, "/dev/fuse", guard.Fail, "chmod 666"},
		{"container without capability", host(in("docker"), func(f *guard.Facts) { f.SysAdmin = false }), options, guard.VerdictDirectorySync, "mount", guard.Fail, "--cap-add SYS_ADMIN"},
		{"AppArmor", host(in("docker"), func(f *guard.Facts) { f.TrialMount = syscall.EACCES }), options, guard.VerdictDirectorySync, "mount", guard.Fail, "apparmor=unconfined"},
		{"confined", host(in("docker"), func(f *guard.Facts) { f.AppArmor, f.NoNewPrivileges = "docker-default (enforce)", true }), options, guard.VerdictFUSE, "confinement", guard.OK, ""},
		{"no FUSE in the kernel", host(func(f *guard.Facts) { f.TrialMount = syscall.ENODEV }), options, guard.VerdictDirectorySync, "mount", guard.Fail, "modprobe fuse"},
		{"no fuse3", host(ordinary, func(f *guard.Facts) { f.Helper = "" }), options, guard.VerdictDirectorySync, "mount", guard.Fail, "install fuse3"},
		{"no_new_privs", host(ordinary, func(f *guard.Facts) { f.NoNewPrivileges = true }), options, guard.VerdictDirectorySync, "mount", guard.Fail, "NoNewPrivileges=no"},
		{"helper not setuid", host(ordinary, func(f *guard.Facts) { f.HelperPrivileged = false }), options, guard.VerdictDirectorySync, "mount", guard.Fail, "chmod u+s /usr/bin/fusermount3"},

		{"allow-other not asked for", host(ordinary), options, guard.VerdictFUSE, "allow-other", guard.OK, ""},
		{"allow-other refused", host(ordinary), guard.Options{Root: options.Root, AllowOther: true}, guard.VerdictDirectorySync, "allow-other", guard.Fail, "user_allow_other >> /etc/fuse.conf"},
		{"allow-other set", host(ordinary, func(f *guard.Facts) { f.UserAllowOther = true }), guard.Options{Root: options.Root, AllowOther: true}, guard.VerdictFUSE, "allow-other", guard.OK, ""},
		{"allow-other as root", host(), guard.Options{Root: options.Root, AllowOther: true}, guard.VerdictFUSE, "allow-other", guard.OK, ""},

		{"old kernel", host(func(f *guard.Facts) { f.Kernel = "5.10.0-28-amd64" }), options, guard.VerdictFUSE, "kernel", guard.Warn, "5.11"},
		{"gVisor", host(in("gvisor")), options, guard.VerdictFUSE, "container", guard.Warn, "outside the sandbox"},
		{"no user namespaces", host(ordinary, func(f *guard.Facts) { f.NoUserNamespaces = "user.max_user_namespaces is 0" }), options, guard.VerdictFUSE, "isolation", guard.Warn, "sysctl"},
		{"user namespaces not needed", host(func(f *guard.Facts) { f.NoUserNamespaces = "x" }), options, guard.VerdictFUSE, "isolation", guard.OK, ""},

		{"root not writable", host(ordinary, func(f *guard.Facts) { f.MountRoot.Err = syscall.EACCES }), options, guard.VerdictCannotRun, "mount root", guard.Fail, `sudo install -d -m 755 -o "$USER" /mnt/memory`},
		{"root on a read-only disk", host(func(f *guard.Facts) { f.MountRoot.Err = syscall.EROFS }), options, guard.VerdictCannotRun, "mount root", guard.Fail, "writable volume"},
		{"root is a file", host(func(f *guard.Facts) { f.MountRoot.Err = syscall.ENOTDIR }), options, guard.VerdictCannotRun, "mount root", guard.Fail, "move /mnt away"},
		{"root is a dead mount", host(func(f *guard.Facts) { f.MountRoot.Err = syscall.ENOTCONN }), options, guard.VerdictCannotRun, "mount root", guard.Fail, "memfs unmount /mnt"},
		{"stale mount below", host(func(f *guard.Facts) { f.Stale = []string{"/mnt/memory/notes"} }), options, guard.VerdictFUSE, "stale mounts", guard.Warn, "memfs unmount /mnt/memory/notes"},

		{"R15: state on overlay", host(in("docker"), func(f *guard.Facts) { f.State.Filesystem = "overlay" }), options, guard.VerdictFUSE, "state directory", guard.Warn, "-v memfs-state:/var/lib/memfs"},
		{"R15: state on tmpfs", host(func(f *guard.Facts) { f.State.Filesystem = "tmpfs" }), options, guard.VerdictFUSE, "state directory", guard.Warn, "--state-dir"},
		{"R18: state open to others", host(func(f *guard.Facts) { f.State.Unsafe, f.State.Ours = "other users can look into it", true }), options, guard.VerdictDirectorySync, "state directory", guard.Fail, "chmod 700 /var/lib/memfs"},
		{"R18: state in somebody else's place", host(func(f *guard.Facts) { f.State.Unsafe = "other users can look into it" }), options, guard.VerdictDirectorySync, "state directory", guard.Fail, "choose a directory of your own"},
		{"state where others write", host(func(f *guard.Facts) { f.State.Err, f.State.Existing = syscall.EACCES, f.State.Path }), options, guard.VerdictDirectorySync, "state directory", guard.Fail, "choose a directory of your own"},
		{"state not writable", host(func(f *guard.Facts) { f.State.Err = syscall.EACCES }), options, guard.VerdictDirectorySync, "state directory", guard.Fail, "-m 700"},
		{"nothing works", host(noDevice(syscall.ENOENT), func(f *guard.Facts) { f.MountRoot.Err = syscall.EROFS }), options, guard.VerdictCannotRun, "/dev/fuse", guard.Fail, "modprobe"},

		{"macOS", host(func(f *guard.Facts) { f.OS, f.Kernel, f.Helper = "darwin", "24.1.0", "/x/mount_macfuse" }), options, guard.VerdictFUSE, "macFUSE", guard.OK, ""},
		{"macOS without macFUSE", host(func(f *guard.Facts) { f.OS, f.Kernel = "darwin", "24.1.0" }), options, guard.VerdictDirectorySync, "macFUSE", guard.Fail, "brew install"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := guard.Judge(c.facts, c.options)
			assert.Equal(t, c.verdict, r.Verdict)
			found := false
			for _, check := range r.Checks {
				failed := check.Status == guard.Fail
				assert.Equal(t, failed, contains(r.Blockers, check.Name), check.Name)
				assert.NotEmpty(t, check.Detail)
				assert.Equal(t, check.Status == guard.OK, check.Remedy == "", "%s: a remedy if and only if something is amiss", check.Name)
				if check.Name != c.check {
					continue
				}
				found = true
				assert.Equal(t, c.status, check.Status)
				assert.Contains(t, check.Remedy, c.remedy)
			}
			assert.True(t, found, "check %q is missing", c.check)
		})
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// TestReport_NamesWhatConfines: the layer that blocks is named.
func TestReport_NamesWhatConfines(t *testing.T) {
	confined := func(f *guard.Facts) { f.AppArmor, f.NoNewPrivileges = "docker-default (enforce)", true }
	text := guard.Judge(host(confined, func(f *guard.Facts) { f.TrialMount = syscall.EACCES }), options).String()
	assert.Contains(t, text, "a trial mount failed: permission denied; AppArmor confines this process by docker-default (enforce)")
	assert.Contains(t, text, "AppArmor by docker-default (enforce); no_new_privs: setuid programs")
	assert.Contains(t, guard.Judge(host(func(f *guard.Facts) { f.State.Existing, f.State.Filesystem = f.State.Path, "ext4" }), options).String(),
		"/var/lib/memfs, this user's and closed to others, on ext4")
}

func TestReport_Renderings(t *testing.T) {
	r := guard.Judge(host(in("docker"), noDevice(syscall.ENOENT)), options)
	text := r.String()
	assert.Contains(t, text, "fail  /dev/fuse")
	assert.Contains(t, text, "no such file or directory")
	assert.Contains(t, text, "-> give the container --device /dev/fuse\n")
	assert.True(t, strings.HasSuffix(text, "verdict: directory sync (blocked: /dev/fuse)\n"), text)

	raw, err := json.Marshal(r)
	require.NoError(t, err)
	var back guard.Report
	require.NoError(t, json.Unmarshal(raw, &back))
	assert.Equal(t, r, back)

	raw, err = json.Marshal(guard.Judge(host(), guard.Options{Root: options.Root}))
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"verdict":"fuse","blockers":[]`)
	assert.NotContains(t, string(raw), "state directory", "not asked about")
}
