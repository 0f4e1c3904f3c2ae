package main_test

import (
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
