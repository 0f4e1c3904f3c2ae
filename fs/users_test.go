//go:build linux

package fs

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// nobody is an ordinary user.
const nobody = 65534

// asNobody runs a script in the mount as an ordinary user.
func asNobody(t *testing.T, m *mounted, script string) error {
	t.Helper()
	return asUser(t, m, nobody, script)
}

func asUser(t *testing.T, m *mounted, id uint32, script string) error {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	command := exec.Command("sh", "-ec", script, "sh", m.path)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	said, err := command.CombinedOutput()
	t.Logf("%d: %s: %v: %s", id, script, err, said)
	return err
}

func TestR19_OthersAreKeptOut(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"})
	assert.Error(t, asNobody(t, m, `cat "$1/a"`))
	assert.Error(t, asNobody(t, m, `stat "$1"`))
}

func TestR19_OthersAreBoundByPermissions(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"}, func(c *childConfig) { c.Others = true })
	assert.NoError(t, asNobody(t, m, `cat "$1/a"`))
	assert.Error(t, asNobody(t, m, `echo x >> "$1/a"`))
	assert.Error(t, asNobody(t, m, `rm -f "$1/a"`))
	require.NoError(t, os.Chmod(m.path, 0o777))
	assert.NoError(t, asNobody(t, m, `echo mine > "$1/b"; mkdir "$1/d"; cat "$1/b"`))
	assert.EqualValues(t, nobody, m.stat("b").Uid)
	assert.EqualValues(t, nobody, m.stat("d").Gid)
	assert.Equal(t, "text", m.read("a"))
}

func TestR19_WhatTheStoreBringsBelongsToWhoIsNamed(t *testing.T) {
	m := newMount(t, map[string]string{"/d/a": "text"}, func(c *childConfig) { c.Others, c.Owner, c.Umask = true, nobody, 0o077 })
	for path, mode := range map[string]uint32{"": 0o700, "d": 0o700, "d/a": 0o600} {
		stat := m.stat(path)
		assert.EqualValues(t, nobody, stat.Uid, path)
		assert.EqualValues(t, nobody, stat.Gid, path)
		assert.Equal(t, mode, stat.Mode&0o7777, path)
	}
	assert.NoError(t, asNobody(t, m, `cat "$1/d/a"; echo more >> "$1/d/a"; mv "$1/d/a" "$1/d/b"; echo x > "$1/c"`))
	assert.Error(t, asUser(t, m, nobody-1, `ls "$1"`))
	assert.Error(t, asUser(t, m, nobody-1, `cat "$1/d/b"`))
	m.put("/e/late", "text")
	m.eventually("what arrives later has the same owner", func() bool { return exists(m.at("e/late")) })
	assert.EqualValues(t, nobody, m.stat("e").Uid)
	assert.EqualValues(t, nobody, m.stat("e/late").Uid)
	require.NoError(t, os.Chown(m.at("c"), nobody-1, nobody-1), "root may still do everything")
	assert.NoError(t, asNobody(t, m, `rm -f "$1/c"`), "in a directory of one's own")
}

// TestPrivilegesAreDropped: the kernel leaves it to memfs to take the
// set-user-ID and set-group-ID bits away.
func TestPrivilegesAreDropped(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "text"}, func(c *childConfig) { c.Others = true })
	const bits = unix.S_ISUID | unix.S_ISGID
	privilege := func() {
		require.NoError(t, unix.Chmod(m.at("a"), 0o777|bits))
		require.EqualValues(t, bits, m.stat("a").Mode&bits)
	}
	for what, script := range map[string]string{"write": `printf x >> "$1/a"`, "truncate": `: > "$1/a"`} {
		privilege()
		require.NoError(t, asNobody(t, m, script))
		assert.Zero(t, m.stat("a").Mode&bits, what)
		assert.EqualValues(t, 0o777, m.stat("a").Mode&0o777)
	}
	privilege()
	require.NoError(t, os.Chown(m.at("a"), nobody, nobody))
	assert.Zero(t, m.stat("a").Mode&bits, "chown")
	privilege()
	m.write("a", "root may")
	assert.EqualValues(t, bits, m.stat("a").Mode&bits)
}
