package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func write(t *testing.T, root, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
}

func TestContainerKind(t *testing.T) {
	for _, c := range []struct{ want, file, text, env, value string }{
		{want: ""},
		{want: "docker", file: ".dockerenv"},
		{want: "podman", file: "run/.containerenv"},
		{want: "lxc", file: "run/systemd/container", text: "lxc\n"},
		{want: "kubernetes", file: "var/run/secrets/kubernetes.io/serviceaccount/token"},
		{want: "kubernetes", env: "KUBERNETES_SERVICE_HOST", value: "10.0.0.1"},
		{want: "systemd-nspawn", env: "container", value: "systemd-nspawn"},
		{want: "gvisor", file: "proc/version", text: "Linux version 4.4.0 (gVisor)"},
		{want: "", file: "proc/version", text: "Linux version 6.1.0"},
	} {
		root := t.TempDir()
		if c.file != "" {
			write(t, root, c.file, c.text)
		}
		getenv := func(name string) string {
			if name == c.env {
				return c.value
			}
			return ""
		}
		assert.Equal(t, c.want, containerKind(root, getenv), "%+v", c)
	}
}

func TestCapable(t *testing.T) {
	assert.True(t, capable([]byte("Name:\tx\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t1\n")))
	assert.False(t, capable([]byte("CapEff:\t00000000a80425fb\n")), "Docker's default set")
	assert.False(t, capable([]byte("CapEff:\t0000000000000000\n")))
	assert.False(t, capable(nil))
	assert.Equal(t, "1", field([]byte("CapEff:\t0\nNoNewPrivs:\t1\n"), "NoNewPrivs"))
}

func TestAllowsOther(t *testing.T) {
	root := t.TempDir()
	assert.False(t, allowsOther(filepath.Join(root, "none")))
	for text, want := range map[string]bool{
		"":                             false,
		"#user_allow_other\n":          false,
		"mount_max = 5\n":              false,
		"user_allow_other":             true,
		"# x\n  user_allow_other  \ny": true,
	} {
		write(t, root, "fuse.conf", text)
		assert.Equal(t, want, allowsOther(filepath.Join(root, "fuse.conf")), "%q", text)
	}
}

func TestNoUserNamespaces(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"user/max_user_namespaces", "96364\n", ""},
		{"user/max_user_namespaces", "0\n", "user.max_user_namespaces is 0"},
		{"kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone is 0"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1\n", "kernel.apparmor_restrict_unprivileged_userns is 1"},
	} {
		root := t.TempDir()
		write(t, root, c.path, c.text)
		assert.Equal(t, c.want, noUserNamespaces(root))
	}
}

func TestAppArmor(t *testing.T) {
	attr := t.TempDir()
	assert.Empty(t, appArmor(attr))
	for text, want := range map[string]string{
		"unconfined\n": "", "system_u:system_r:container_t:s0\x00": "",
		"docker-default (enforce)\n": "docker-default (enforce)", "x (complain)\n": "x (complain)",
	} {
		write(t, attr, "current", text)
		assert.Equal(t, want, appArmor(attr), text)
	}
	write(t, attr, "apparmor/current", "unconfined\n")
	assert.Empty(t, appArmor(attr), "of several modules this is AppArmor's own")
}

func TestPlace(t *testing.T) {
	mounts, err := mountinfo.GetMounts(nil)
	require.NoError(t, err)
	place := func(path string) Place { return place(path, mounts) }
	top := t.TempDir()
	p := place(filepath.Join(top, "a", "b"))
	assert.Equal(t, Place{Path: filepath.Join(top, "a", "b"), Existing: top, Filesystem: p.Filesystem}, p)
	_, err = os.Stat(filepath.Join(top, "a"))
	require.ErrorIs(t, err, os.ErrNotExist, "looking makes nothing")

	private := filepath.Join(top, "private")
	require.NoError(t, os.Mkdir(private, 0o700))
	assert.Empty(t, place(private).Unsafe)
	require.NoError(t, os.Chmod(private, 0o750))
	assert.Equal(t, "other users can look into it", place(private).Unsafe)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(private, 12345, 12345))
		assert.Equal(t, "it belongs to uid 12345", place(private).Unsafe)
	}

	write(t, top, "file", "")
	require.ErrorIs(t, place(filepath.Join(top, "file")).Err, unix.ENOTDIR)
	require.ErrorIs(t, place(filepath.Join(top, "file", "below")).Err, unix.ENOTDIR)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(top, "link")))
	require.ErrorIs(t, place(filepath.Join(top, "link")).Err, unix.ENOENT)
	assert.Equal(t, "tmpfs", place("/dev/shm").Filesystem)
}

// canMount skips where the tests run without the right to mount.
func canMount(t *testing.T) *os.File {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	device, err := os.OpenFile(fuseDevice, os.O_RDWR, 0)
	if err != nil || !capable(status) {
		t.Skip("needs CAP_SYS_ADMIN and /dev/fuse")
	}
	return device
}

func TestTrialMount_LeavesNothing(t *testing.T) {
	device := canMount(t)
	defer device.Close()
	if err := trialMount(device); err != nil {
		require.NotErrorIs(t, err, unix.EBUSY, "the mount was not taken back")
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	assert.NotContains(t, string(table), "memfs-doctor")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "memfs-doctor-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestProbe_NamesADeadMount(t *testing.T) {
	device := canMount(t)
	dir := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device.Fd())
	if err := unix.Mount("memfs:memstore_dead", dir, "fuse.memfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		require.NoError(t, device.Close())
		t.Skip("this host forbids mount(2): ", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	require.NoError(t, device.Close()) // the process that served it is gone

	f := Probe(t.Context(), Options{Root: filepath.Join(dir, "sub"), StateDir: t.TempDir()})
	assert.Contains(t, f.Stale, dir)
	require.ErrorIs(t, f.MountRoot.Err, unix.ENOTCONN)
	r := Judge(f, Options{Root: dir})
	assert.Equal(t, VerdictCannotRun, r.Verdict)
	assert.Contains(t, r.String(), "memfs unmount "+dir)
}

func TestDoctor_OnThisHost(t *testing.T) {
	r := Doctor(t.Context(), Options{Root: t.TempDir(), StateDir: filepath.Join(t.TempDir(), "state")})
	require.NotEqual(t, VerdictCannotRun, r.Verdict, r.String())
	names := make([]string, len(r.Checks))
	for i, c := range r.Checks {
		names[i] = c.Name
	}
	assert.Equal(t, "kernel container /dev/fuse mount confinement allow-other isolation mount root stale mounts state directory", strings.Join(names, " "))
}

func TestOursIsOnlyWhatMemfsAloneUses(t *testing.T) {
	dir := t.TempDir()
	assert.True(t, Ours(dir), "empty")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "replicas"), 0o700))
	assert.True(t, Ours(dir), "a state directory")
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	assert.False(t, Ours(dir), "like /tmp")
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "mine"), 0o700))
	assert.False(t, Ours(dir), "a home")
	assert.False(t, Ours("/tmp"))
	assert.False(t, Ours(filepath.Join(dir, "missing")))
}
