package worker_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// R18: the working directory is the agent's. A link that one left there leads no
// mount of a later session out of it: it would be made with memfs's rights.
func TestR18_AnAgentsLinkLeadsNoMountAway(t *testing.T) {
	h := newHost(t, local.Options{})
	require.NoError(t, os.Mkdir(h.path("elsewhere"), 0o755))
	require.NoError(t, os.Symlink(h.path("elsewhere"), h.path("work", "memory")))
	at := h.store("notes", map[string]string{"/a.md": "a"})
	at.MountPath = ptr("")
	x := h.session([]local.Attachment{at}, bash("true"))
	h.refused(x, nil, "memory store download failed", "leads out of the working directory", "path_leads_away")
	left, err := os.ReadDir(h.path("elsewhere"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
