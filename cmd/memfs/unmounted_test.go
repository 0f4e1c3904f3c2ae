//go:build linux

package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

// R15: a lazy unmount by somebody else ends the session also while the mount is in
// use, and probes say so at once; who uses it is served until the last close.
func TestR15_ForeignLazyUnmountOfABusyMountEndsTheProcess(t *testing.T) {
	h := mounting(t)
	mnt, other := h.path("mnt"), h.path("other")
	id := h.store("notes")
	h.store("other")
	log, err := os.Create(h.path("log"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, log.Close()) }()
	cmd := h.command("mount", "notes:"+mnt, "other:"+other, "--metrics-addr=0")
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	h.await(mnt + "/.anthropic-memory-store")
	h.await(other + "/.anthropic-memory-store")
	found := regexp.MustCompile(`metrics are served .*"address": "(127\.0\.0\.1:\d+)"`).FindStringSubmatch(fileText(t, log.Name()))
	require.Len(t, found, 2)
	address := found[1]
	held, err := os.OpenFile(mnt+"/a.md", os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	health := func() int {
		response, err := http.Get("http://" + address + "/healthz")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, health())
	h.must("status", "--check", mnt)

	require.NoError(t, exec.Command("umount", "-l", mnt).Run())
	require.Eventually(t, func() bool { return health() == http.StatusServiceUnavailable }, time.Minute, 10*time.Millisecond)
	h.fails(exitcode.Failed, "unmounted", "status", "--check", mnt)
	h.fails(exitcode.Failed, "unmounted", "sync", mnt)
	require.Eventually(t, func() bool { return !slices.Contains(h.mounts(), other) }, time.Minute, 10*time.Millisecond, "the others end with it")
	_, err = held.WriteString("kept on\n")
	require.NoError(t, err)
	require.NoError(t, held.Close())

	require.NoError(t, cmd.Wait())
	assert.Contains(t, fileText(t, log.Name()), "unmounted by somebody else")
	assert.NoDirExists(t, mnt)
	assert.Equal(t, map[string]string{"/a.md": "kept on\n"}, h.memories(h.api().Reader(id)))
}
