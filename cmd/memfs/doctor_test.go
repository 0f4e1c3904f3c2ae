package main_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

func TestDoctor(t *testing.T) {
	h := newHost(t)
	write(t, h.path("file"), "")
	h.fails(exitcode.HostNotReady, "this host is not ready to mount: see", "doctor", "--root", h.path("file/memory"))

	r := h.run("doctor", "--json", "--root", h.path("memory"))
	var report struct {
		Verdict  string
		Blockers []string
		Checks   []struct{ Name, Status, Detail string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	assert.NotEmpty(t, report.Checks)
	assert.Equal(t, report.Verdict == "fuse", r.code == exitcode.OK, "exit code %d for %s", r.code, report.Verdict)
	assert.Equal(t, report.Verdict == "fuse", len(report.Blockers) == 0)
	assert.NoDirExists(t, h.path("memory"), "it changes nothing")
}
