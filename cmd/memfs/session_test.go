package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store"
)

// session makes one that has a store attached, read-only where access says so,
// and returns its id.
func (s *server) session(storeID, access string) string {
	s.host.t.Helper()
	body := `{"agent": "agent_1", "environment_id": "env_1", "resources": [`
	if storeID != "" {
		body += `{"type": "memory_store", "memory_store_id": "` + storeID + `", "access": "` + access + `"}`
	}
	request, err := http.NewRequestWithContext(s.host.t.Context(), http.MethodPost, s.url+"/v1/sessions", strings.NewReader(body+`]}`))
	require.NoError(s.host.t, err)
	request.Header.Set("x-api-key", "any")
	request.Header.Set("anthropic-version", "2023-06-01")
	request.Header.Set("anthropic-beta", "managed-agents-2026-04-01")
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.host.t, err)
	defer func() { assert.NoError(s.host.t, response.Body.Close()) }()
	var made struct{ ID string }
	require.NoError(s.host.t, json.NewDecoder(response.Body).Decode(&made))
	require.NotEmpty(s.host.t, made.ID, response.Status)
	return made.ID
}

func TestMountWhatASessionHasAttached(t *testing.T) {
	h := mounting(t)
	if os.Geteuid() != 0 {
		t.Skip("the embedded store prescribes /mnt/memory, which only root can make")
	}
	server := h.with("MEMFS_LOCAL=").serve()
	url := h.with("MEMFS_LOCAL=", "ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL="+server.url)
	name := filepath.Base(h.dir) // one that no other test has
	id := url.store(name)
	session := server.session(id, "read_only")
	url.must("mount", "--session", session, "--daemon")
	mnt := filepath.Join("/mnt/memory", strings.ToLower(name))
	assert.FileExists(t, filepath.Join(mnt, store.MarkerName))
	assert.True(t, url.status(mnt).Status.ReadOnly)
	url.must("unmount", mnt)
	assert.NoDirExists(t, mnt)

	url.fails(exitcode.Usage, "has no memory stores attached", "mount", "--session", server.session("", ""))
	url.fails(exitcode.Usage, "not both", "mount", "--session", session, name)
	url.fails(exitcode.Usage, "give --session the id", "mount", "--session", "session_x")
}
