package claude_test

import (
	"strings"
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

// R1: what a session names as its mount path can be no place that root's
// programs take orders from.
func TestR1_HostileMountPaths(t *testing.T) {
	for _, path := range []string{
		"/", "//", "/.", "/etc", "/etc/systemd/system/sshd.service.d", "/root/.ssh", "/root", "/proc/1/root/tmp/x", "/sys/fs/x", "/dev/shm/x",
		"/usr/local/lib/python3/dist-packages/x", "/lib/x", "/run/x", "/var/spool/cron/crontabs", "/home/dev/.ssh", "/home/dev/.config/autostart/x",
		"/mnt/memory/../..", "/mnt/memory/../../etc/x", "mnt/memory/x", "", "/mnt/memory/a\nb", "/mnt/memory/\x1b[2J", "/mnt/a\u202eb", "/mnt/a\x00b",
		"/mnt/" + strings.Repeat("x", 2000), "/mnt//..//etc", "/etc/../etc/x", "/mnt/./../etc/x",
	} {
		_, api := serve(t, always(200, session(attached("memstore_1", set("mount_path", path)))))
		got, err := api.SessionStores(t.Context(), "sesn_1")
		if path == "" { // does not say where
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, store.ErrProtocol, "%q: %v", path, got)
		assert.NotContains(t, err.Error(), "\x1b")
	}
	for _, path := range []string{"/mnt/memory/notes", "/home/dev/memory/x", "/srv/etc/x", "/rooted/x", "/tmp/w1/mnt/notes"} {
		_, api := serve(t, always(200, session(attached("memstore_1", set("mount_path", path)))))
		got, err := api.SessionStores(t.Context(), "sesn_1")
		require.NoError(t, err, path)
		assert.Equal(t, path, got[0].MountPath)
	}
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
