package main_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

// TestStatusLeavesOutTheMountsOfOtherUsers: they are none of this one's
// business, least of all a reason for a probe to fail.
func TestStatusLeavesOutTheMountsOfOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	h := quiet(t)
	h.store("notes")
	mnt := h.path("mnt")
	h.must("mount", "notes:"+mnt, "--daemon")
	for _, dir := range []string{h.dir, filepath.Dir(program)} {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	asked := func(args ...string) (int, string) {
		cmd := h.with("RUNTIME_DIRECTORY=", "STATE_DIRECTORY=", "HOME=/").command(args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		said, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(said)
	}
	code, said := asked("status")
	assert.Equal(t, exitcode.OK, code, said)
	assert.NotContains(t, said, mnt)
	_, said = asked("status", "--check")
	assert.NotContains(t, said, mnt)
	_, said = asked("status", mnt)
	assert.Contains(t, said, "permission denied", "where it is named")
}
