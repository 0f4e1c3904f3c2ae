//go:build linux

package soak

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/benchchild"
	"memfs/integration/soak/proxy"
	"memfs/store/claude"
	"memfs/store/local"
)

// serverWord starts this program as the server. It is a process of its own: the
// test's stands still while it starts a tool whose exec waits for a mount, and
// the mount may be waiting for the server.
const serverWord = "soak-server"

// server is the stores, behind the proxy and past it.
type server struct {
	url    string      // of the proxy
	direct *claude.API // past it

	mu    sync.Mutex
	child *benchchild.Child
	t     *testing.T
}

type serverConfig struct {
	Dir  string
	Seed uint64
}

type serverReady struct{ Front, Back string }

// order is what the server is told; nil leaves it as it is.
type order struct {
	Weather *proxy.Weather `json:",omitempty"`
	Clock   *time.Duration `json:",omitempty"` // ahead of this host's
	// Clear ends all faults, Drop ends all connections.
	Clear, Drop bool
}

type serverAnswer struct{ Counts map[string]int }

func startServer(t *testing.T, c serverConfig) *server {
	t.Helper()
	s := &server{t: t}
	var ready serverReady
	var err error
	s.child, err = benchchild.Start(serverWord, c, &ready)
	require.NoError(t, err)
	s.url = ready.Front
	s.direct, err = claude.New(claude.Config{BaseURL: ready.Back, Credential: "soak"})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.direct.Close()
		assert.NoError(t, s.child.End())
	})
	return s
}

// tell gives an order and returns how many requests met which fault.
func (s *server) tell(o order) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer serverAnswer
	assert.NoError(s.t, s.child.Ask(o, &answer))
	return answer.Counts
}

func (s *server) weather(w proxy.Weather)   { s.tell(order{Weather: &w}) }
func (s *server) clock(ahead time.Duration) { s.tell(order{Clock: &ahead}) }

// serverMain is the server's process.
func serverMain() error {
	in := json.NewDecoder(os.Stdin)
	var c serverConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	backend, err := local.Open(filepath.Join(c.Dir, "stores"), local.Options{Now: now})
	if err != nil {
		return err
	}
	trace, err := os.Create(filepath.Join(c.Dir, "requests"))
	if err != nil {
		return err
	}
	p := proxy.New(backend.Handler(), c.Seed, trace)
	front, back := httptest.NewServer(p), httptest.NewServer(backend.Handler())
	if err := json.NewEncoder(os.Stdout).Encode(serverReady{front.URL, back.URL}); err != nil {
		return err
	}
	err = benchchild.Serve(in, func(o order) (any, error) {
		if o.Weather != nil {
			p.Set(*o.Weather)
		}
		if o.Clock != nil {
			ahead.Store(int64(*o.Clock))
		}
		if o.Clear {
			p.Clear()
			ahead.Store(0)
		}
		if o.Drop {
			front.CloseClientConnections()
		}
		return serverAnswer{p.Counts()}, nil
	})
	p.Clear()
	for _, s := range []*httptest.Server{front, back} {
		s.CloseClientConnections()
		s.Close()
	}
	return errors.Join(err, backend.Close(), trace.Close())
}
