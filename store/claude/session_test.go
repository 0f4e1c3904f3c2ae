package claude_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
)

func session(resources ...object) object {
	return object{"type": "session", "id": "sesn_1", "status": "running", "agent": object{}, "resources": resources}
}

func attached(id string, edits ...func(object)) object {
	o := object{"type": "memory_store", "memory_store_id": id, "name": "Notes", "access": "read_write", "mount_path": "/mnt/memory/notes"}
	for _, edit := range edits {
		edit(o)
	}
	return o
}

func TestSessionStores(t *testing.T) {
	s, api := serve(t, always(200, session(
		attached("memstore_1"),
		object{"type": "file", "id": "res_1", "file_id": "file_1", "mount_path": "/x"},
		attached("memstore_2", set("access", "read_only"), set("mount_path", "/mnt//memory/./team/")),
		attached("memstore_3", set("access", nil), set("mount_path", nil), set("name", nil)),
	)))
	got, err := api.SessionStores(t.Context(), "sesn_1")
	require.NoError(t, err)
	assert.Equal(t, []claude.Attachment{
		{StoreID: "memstore_1", Name: "Notes", MountPath: "/mnt/memory/notes"},
		{StoreID: "memstore_2", Name: "Notes", MountPath: "/mnt/memory/team", ReadOnly: true},
		{StoreID: "memstore_3"},
	}, got)
	require.Len(t, s.requests(), 1)
	assert.Equal(t, "/v1/sessions/sesn_1", s.requests()[0].Path)
	assert.Equal(t, []string{"managed-agents-2026-04-01"}, s.requests()[0].Header.Values("Anthropic-Beta"))
}

func TestSessionStores_Refusals(t *testing.T) {
	for name, answer := range map[string]object{
		"relative":    session(attached("memstore_1", set("mount_path", "notes"))),
		"upwards":     session(attached("memstore_1", set("mount_path", "/mnt/memory/../../etc"))),
		"the root":    session(attached("memstore_1", set("mount_path", "//"))),
		"no store id": session(attached("")),
		"another one": {"type": "session", "id": "sesn_2", "resources": []object{}},
		"nothing":     {},
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, always(200, answer))
			_, err := api.SessionStores(t.Context(), "sesn_1")
			require.ErrorIs(t, err, store.ErrProtocol)
		})
	}
	s, api := serve(t, always(404, fault("not_found_error")))
	_, err := api.SessionStores(t.Context(), "sesn_1")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = api.SessionStores(t.Context(), "../files")
	require.ErrorIs(t, err, store.ErrInvalid)
	assert.Len(t, s.requests(), 1)
}
