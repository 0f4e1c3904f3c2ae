//go:build linux

package hostile

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
)

// text is the content of memories that hostile servers list.
const text = "from the store\n"

func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])
}

// memory is a memory as a listing has it, with fields replaced.
func memory(store, id, path string, replaced ...object) object {
	m := object{
		"type": "memory", "id": "mem_" + id, "memory_store_id": store, "memory_version_id": "memver_" + id, "path": path,
		"content": nil, "content_sha256": sum(text), "content_size_bytes": len(text),
		"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
	}
	for _, fields := range replaced {
		maps.Copy(m, fields)
	}
	return m
}

// version is a version as a history has it, with fields replaced.
func version(store, id, path string, replaced ...object) object {
	v := object{
		"type": "memory_version", "id": "memver_" + id, "memory_store_id": store, "memory_id": "mem_" + id, "operation": "created",
		"path": path, "content": nil, "content_sha256": sum(text), "content_size_bytes": len(text),
		"created_at": "2026-01-02T03:04:05Z", "created_by": object{"type": "api_actor", "api_key_id": "apikey_1"}, "redacted_at": nil,
	}
	for _, fields := range replaced {
		maps.Copy(v, fields)
	}
	return v
}
