package claude_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/store"
	"memfs/store/claude"
)

const (
	storeID    = "memstore_01"
	credential = "sk-ant-api03-canary-0123456789"
	at         = "2026-11-01T10:00:00.123456Z"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is what the scripted server saw.
type request struct {
	Method, Path, Query string
	Header              http.Header
	Body                map[string]any
}

// script answers every request with the same function and keeps the requests.
type script struct {
	mu     sync.Mutex
	seen   []request
	answer http.HandlerFunc
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	seen := request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone()}
	_ = json.Unmarshal(raw, &seen.Body)
	s.mu.Lock()
	s.seen = append(s.seen, seen)
	s.mu.Unlock()
	s.answer(w, r)
}

func (s *script) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.seen...)
}

// serve starts a server that gives answer to everything, and an API for it.
func serve(t *testing.T, answer http.HandlerFunc) (*script, *claude.API) {
	t.Helper()
	s := &script{answer: answer}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, connect(t, claude.Config{BaseURL: srv.URL, Credential: credential})
}

func connect(t *testing.T, c claude.Config) *claude.API {
	t.Helper()
	api, err := claude.New(c)
	require.NoError(t, err)
	t.Cleanup(api.Close)
	return api
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func always(status int, body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, status, body) }
}

// object is a JSON object.
type object = map[string]any

func fault(kind string) object {
	return object{"type": "error", "error": object{"type": kind, "message": "words that nobody matches"}}
}

// memory is a well-formed memory; edits change it. Full views carry content.
func memory(id, path, content string, full bool, edits ...func(object)) object {
	m := object{
		"type": "memory", "id": id, "memory_store_id": storeID, "memory_version_id": "memver_1", "path": path,
		"content": nil, "content_size_bytes": len(content), "content_sha256": store.Hash([]byte(content)).String(),
		"created_at": at, "updated_at": at,
	}
	if full {
		m["content"] = content
	}
	for _, edit := range edits {
		edit(m)
	}
	return m
}

func version(id string, edits ...func(object)) object {
	v := object{
		"type": "memory_version", "id": id, "memory_id": "mem_1", "memory_store_id": storeID, "operation": "modified",
		"path": "/a.md", "content": nil, "content_size_bytes": 2, "content_sha256": store.Hash([]byte("hi")).String(),
		"created_at": at, "created_by": object{"type": "api_actor", "api_key_id": "apikey_1"}, "redacted_at": nil, "redacted_by": nil,
	}
	for _, edit := range edits {
		edit(v)
	}
	return v
}

func set(key string, value any) func(object) { return func(o object) { o[key] = value } }

func storeObject(id, name string, archivedAt any) object {
	return object{
		"type": "memory_store", "id": id, "name": name, "description": "", "metadata": object{"k": "v"},
		"created_at": at, "updated_at": at, "archived_at": archivedAt,
	}
}

func page(next any, items ...object) object {
	if items == nil {
		items = []object{}
	}
	return object{"data": items, "next_page": next}
}
