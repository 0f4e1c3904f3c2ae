//go:build linux

package converge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// server serves one store to all mounts of a test: whoever asks for a new one
// gets the first. It counts what is asked, and fails what it is told to.
type server struct {
	*httptest.Server
	t *testing.T
	// api is the way of somebody else, which is not counted and never fails.
	api *claude.API

	mu       sync.Mutex
	store    string // its id, once it was made
	requests []string
	fault    func(w http.ResponseWriter, r *http.Request) bool
}

func newServer(t *testing.T, o local.Options) *server {
	t.Helper()
	stores, err := local.Open(t.TempDir(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stores.Close()) })
	s := &server{t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(stores.Handler(), w, r) }))
	t.Cleanup(s.Close)
	direct := httptest.NewServer(stores.Handler())
	t.Cleanup(direct.Close)
	s.api, err = claude.New(claude.Config{BaseURL: direct.URL, Credential: "test"})
	require.NoError(t, err)
	t.Cleanup(s.api.Close)
	return s
}

// client is somebody else who uses the store.
func (s *server) client() store.Client { return s.api.Store(s.store) }

// memories are what the store has, by path, with contents.
func (s *server) memories() map[string]store.Memory {
	s.t.Helper()
	all := map[string]store.Memory{}
	for query := (store.ListQuery{Full: true}); ; {
		page, err := s.client().List(s.t.Context(), query)
		require.NoError(s.t, err)
		for _, m := range page.Memories {
			all[m.Path] = m
		}
		if page.Next == "" {
			return all
		}
		query.Page = page.Next
	}
}

// texts are the contents of memories.
func (s *server) texts() map[string]string {
	s.t.Helper()
	texts := map[string]string{}
	for path, m := range s.memories() {
		texts[path] = string(m.Content)
	}
	return texts
}

// delete deletes the memory at a path.
func (s *server) delete(path string) {
	s.t.Helper()
	m, ok := s.memories()[path]
	require.True(s.t, ok, path)
	require.NoError(s.t, s.client().Delete(s.t.Context(), m.ID, m.SHA))
}

const storesPath = "/v1/memory_stores"

func (s *server) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault, id := s.fault, s.store
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	switch {
	case fault != nil && fault(w, r):
	case r.Method == http.MethodPost && r.URL.Path == storesPath && id != "":
		r.Method, r.URL.Path, r.Body = http.MethodGet, storesPath+"/"+id, http.NoBody
		next.ServeHTTP(w, r)
	default:
		next.ServeHTTP(w, r)
	}
}

// fail has f see each request first; true says that it has answered. nil ends
// that.
func (s *server) fail(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// asked takes the requests since it was last called.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// changes are those of the requests that ask for a change.
func changes(requests []string) []string {
	var found []string
	for _, r := range requests {
		if !strings.HasPrefix(r, http.MethodGet+" ") {
			found = append(found, r)
		}
	}
	return found
}

// refuse answers as the API does.
func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"type":"error","error":{"type":"` + kind + `","message":"refused for a test"}}`))
}

// archive archives the store.
func (s *server) archive() {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+storesPath+"/"+s.store+"/archive", http.NoBody)
	require.NoError(s.t, err)
	request.Header.Set("X-Api-Key", "test")
	request.Header.Set("Anthropic-Beta", "agent-memory-2026-07-22")
	answer, err := s.Client().Do(request)
	require.NoError(s.t, err)
	require.NoError(s.t, answer.Body.Close())
	require.Equal(s.t, http.StatusOK, answer.StatusCode)
}
