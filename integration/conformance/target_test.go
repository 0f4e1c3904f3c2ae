package conformance

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// target is the server under test.
type target struct {
	url, key string
	// Of the work queue; empty if there is none to check.
	environment, environmentKey string
	// stores are the empty stores left to use; nil if the suite makes its own.
	stores []string
	given  bool
}

// full reports whether the server has all endpoints.
func (s *target) full() bool { return !s.given }

// client returns a client with an empty store.
func (s *target) client(t *testing.T) *client {
	c := newClient(s.url, s.key)
	c.environment, c.environmentKey = s.environment, s.environmentKey
	if !s.given {
		c.store = c.makeStore(t)
		return c
	}
	require.NotEmpty(t, s.stores, "not enough stores given for the suite")
	c.store, s.stores = s.stores[0], s.stores[1:]
	return c
}

func startTarget(t *testing.T) *target {
	if program := os.Getenv("MEMFS_FAKESTORE"); program != "" {
		return startFake(t, program)
	}
	if url := os.Getenv("MEMFS_CONFORMANCE_URL"); url != "" {
		s := &target{
			url: url, key: os.Getenv("MEMFS_CONFORMANCE_KEY"),
			environment: os.Getenv("MEMFS_CONFORMANCE_ENVIRONMENT"), environmentKey: os.Getenv("MEMFS_CONFORMANCE_ENVIRONMENT_KEY"),
		}
		if stores := os.Getenv("MEMFS_CONFORMANCE_STORES"); stores != "" {
			s.stores, s.given = strings.Split(stores, ","), true
		}
		return s
	}
	server, err := local.Open(t.TempDir(), local.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	return &target{
		url: web.URL, key: "sk-ant-api-conformance",
		environment: local.DefaultEnvironment, environmentKey: server.EnvironmentKey(),
	}
}

// startFake starts the independent server with as many stores as the suite can
// use, and ends it with the test.
func startFake(t *testing.T, program string) *target {
	s := &target{key: "sk-ant-api-conformance", given: true}
	for i := range 200 {
		s.stores = append(s.stores, fmt.Sprintf("memstore_conformance%d", i))
	}
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	server := exec.Command(cmp.Or(os.Getenv("PYTHON"), "python3"), program, port)
	server.Env = append(os.Environ(), "STORES="+strings.Join(s.stores, ","))
	server.Stderr = os.Stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		require.NoError(t, server.Process.Kill())
		_ = server.Wait() // reports the kill
	})
	s.url = "http://" + address
	require.Eventually(t, func() bool {
		answer, err := http.Get(s.url + "/_count")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil
	}, 10*time.Second, 20*time.Millisecond, "the server did not come up")
	return s
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}
