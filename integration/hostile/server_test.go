//go:build linux

package hostile

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/claude"
	"memfs/store/local"
)

// twist answers a request in place of the honest server; false leaves it to
// that.
type twist func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool

// server is an honest server that can be made to lie.
type server struct {
	*local.Server
	url string
	// api asks the honest server, whatever the twist.
	api *claude.API

	mu    sync.Mutex
	twist twist
}

func newServer(t testing.TB, o local.Options) *server {
	t.Helper()
	backend, err := local.Open(filepath.Join(t.TempDir(), "stores"), o)
	require.NoError(t, err)
	s := &server{Server: backend}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	s.url = web.URL
	s.api, err = claude.New(claude.Config{BaseURL: web.URL, Credential: observer})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.api.Close()
		s.EndStreams()
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, backend.Close())
	})
	return s
}

// observer is the credential of the test's own requests.
const observer = "hostile-test"

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	lie := s.twist
	s.mu.Unlock()
	honest := s.Handler()
	if lie != nil && r.Header.Get("Authorization") != "Bearer "+observer && lie(w, r, honest) {
		return
	}
	honest.ServeHTTP(w, r)
}

// lie has the server lie from now on; nil has it tell the truth.
func (s *server) lie(t twist) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twist = t
}

// object is a JSON object.
type object = map[string]any

// The calls of the API that attacks tell apart.
func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/memories")
}

// storeOf is the store that a request is about.
func storeOf(r *http.Request) string {
	_, rest, _ := strings.Cut(r.URL.Path, "/memory_stores/")
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// say answers with JSON.
func say(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	raw(w, status, bytes.ReplaceAll(text, []byte(notUTF8), []byte("\xff\xfe")))
}

// notUTF8 stands for bytes that are not UTF-8, which the encoder would mend.
const notUTF8 = "(bytes that are not UTF-8)"

// raw answers with bytes that are called JSON.
func raw(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// edit passes the honest answer through f.
func edit(w http.ResponseWriter, r *http.Request, honest http.Handler, f func(body object)) {
	seen := httptest.NewRecorder()
	honest.ServeHTTP(seen, r)
	var body object
	decoder := json.NewDecoder(bytes.NewReader(seen.Body.Bytes()))
	decoder.UseNumber()
	if decoder.Decode(&body) != nil {
		raw(w, seen.Code, seen.Body.Bytes())
		return
	}
	f(body)
	say(w, seen.Code, body)
}

// also adds entries to the first page of each listing of the whole store.
func also(entries func(store string) []object) twist {
	return func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
		if !isList(r) || r.URL.Query().Get("page") != "" || r.URL.Query().Get("path_prefix") != "" {
			return false
		}
		edit(w, r, honest, func(body object) {
			data, _ := body["data"].([]any)
			for _, e := range entries(storeOf(r)) {
				data = append(data, e)
			}
			body["data"] = data
		})
		return true
	}
}
