package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestR16_TheReadmesKill runs the lines of the README as they stand there.
func TestR16_TheReadmesKill(t *testing.T) {
	h := mounting(t)
	block := regexp.MustCompile("(?s)```sh\n(export MEMFS_LOCAL=/tmp/kill.*?)```").FindStringSubmatch(read(t, "../../README.md"))
	require.NotNil(t, block)
	assert.Equal(t, 6, strings.Count(block[1], "\n"), "six lines")
	script := strings.NewReplacer("/tmp/kill", h.path("kill"), "./memfs", program).Replace(block[1])
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Env, cmd.Dir = h.env, h.dir
	said, err := cmd.Output()
	require.NoError(t, err, string(said))
	assert.Contains(t, string(said), "\nacknowledged, not sent\n")
	assert.Equal(t, "acknowledged, not sent\n", read(t, filepath.Join(h.path("kill"), "copy", "todo.md")), "and now it is in the store")
}

func TestTheReadmeCountsTheLinesOfServe(t *testing.T) {
	h := newHost(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := h.background(w, "serve", "--local", h.path("stores"), "--listen", "127.0.0.1:0")
	require.NoError(t, w.Close())
	lines := bufio.NewScanner(r)
	require.True(t, lines.Scan(), "it is ready when it prints")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	printed := []string{lines.Text()}
	for lines.Scan() {
		printed = append(printed, lines.Text())
	}
	require.Len(t, printed, 4, printed)
	assert.Contains(t, read(t, "../../README.md"), "prints four export lines")
	assert.Contains(t, read(t, "../../docs/OPERATIONS.md"), "prints the four lines")
}
