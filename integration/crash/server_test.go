//go:build linux

package crash

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// server is the API, which outlives every memfs.
type server struct {
	t   testing.TB
	url string
	api *claude.API

	mu   sync.Mutex
	trap *trap
	late sync.WaitGroup
}

// observer is the credential of the test's own requests, which no trap takes.
const observer = "crash-test"

// trap takes changing requests of memfs. They get no answer, unless they are
// only slow.
type trap struct {
	// skip lets so many pass first; all takes every one after that, not only
	// the first.
	skip int
	all  bool
	// apply carries the request out, or not: at once, or later.
	apply func(r *http.Request, body []byte, do func())
	// sprung is called while memfs waits for the answer; nil is nothing.
	sprung func()
	// slow is how long the answer takes; 0 means that there is none.
	slow time.Duration
}

func atOnce(_ *http.Request, _ []byte, do func()) { do() }
func never(*http.Request, []byte, func())         {}

func startServer(t testing.TB, o local.Options) *server {
	backend, err := local.Open(filepath.Join(t.TempDir(), "stores"), o)
	require.NoError(t, err)
	s := &server{t: t}
	web := httptest.NewServer(s.trapped(backend.Handler()))
	s.url = web.URL
	s.api, err = claude.New(claude.Config{BaseURL: web.URL, Credential: observer})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.late.Wait()
		s.api.Close()
		web.CloseClientConnections()
		web.Close()
		require.NoError(t, backend.Close())
	})
	return s
}

// set lays a trap, or takes it away with nil.
func (s *server) set(tr *trap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trap = tr
}

func (s *server) take(r *http.Request) *trap {
	if r.Method == http.MethodGet || r.Header.Get("Authorization") == "Bearer "+observer {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tr := s.trap
	if tr == nil {
		return nil
	}
	if tr.skip > 0 {
		tr.skip--
		return nil
	}
	if !tr.all {
		s.trap = nil
	}
	return tr
}

func (s *server) trapped(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tr := s.take(r)
		if tr == nil {
			h.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tr.slow > 0 {
			time.Sleep(tr.slow)
			r.Body = io.NopCloser(bytes.NewReader(body))
			h.ServeHTTP(w, r)
			return
		}
		tr.apply(r, body, func() {
			whole := r.Clone(context.WithoutCancel(r.Context()))
			whole.Body = io.NopCloser(bytes.NewReader(body))
			h.ServeHTTP(httptest.NewRecorder(), whole)
		})
		if tr.sprung != nil {
			tr.sprung()
		}
		panic(http.ErrAbortHandler) // no answer
	})
}

// later carries a request out after a while, as a slow network does.
func (s *server) later(after time.Duration) func(*http.Request, []byte, func()) {
	return func(_ *http.Request, _ []byte, do func()) {
		s.late.Go(func() {
			time.Sleep(after)
			do()
		})
	}
}

// memories is what the store has, by path.
func (s *server) memories(id string) map[string]store.Memory {
	s.t.Helper()
	all := map[string]store.Memory{}
	for page := ""; ; {
		got, err := s.api.Store(id).List(context.Background(), store.ListQuery{Full: true, Page: page})
		require.NoError(s.t, err)
		for _, m := range got.Memories {
			all[m.Path] = m
		}
		if page = got.Next; page == "" {
			return all
		}
	}
}

// history is every version of every memory, oldest first.
func (s *server) history(id string) map[string][]store.Version {
	s.t.Helper()
	all := map[string][]store.Version{}
	for page := ""; ; {
		got, err := s.api.Store(id).Versions(context.Background(), store.VersionQuery{Page: page})
		require.NoError(s.t, err)
		for _, v := range got.Versions {
			all[v.MemoryID] = append([]store.Version{v}, all[v.MemoryID]...)
		}
		if page = got.Next; page == "" {
			return all
		}
	}
}
