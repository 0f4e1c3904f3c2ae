package local

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"memfs/store"
)

// The settings where Options say nothing.
const (
	// DefaultEnvironment is the environment of sessions that name none.
	DefaultEnvironment = "env_local"
	// DefaultLeaseTTL is the API's.
	DefaultLeaseTTL = 5 * time.Minute
	// DefaultMountRoot is where the API mounts stores.
	DefaultMountRoot = "/mnt/memory"
)

// Options are the settings of a Server. The zero value serves with the API's
// limits and accepts any API key.
type Options struct {
	// MaxContent is the largest content in bytes: 0 for store.MaxContent, which
	// is also the most it can be.
	MaxContent int
	// MaxPath is the longest path in bytes: 0 for store.MaxPath, which is also
	// the most it can be.
	MaxPath int
	// MaxMemories is how many memories one store may hold: 0 for
	// store.DefaultMaxMemories.
	MaxMemories int
	// Credential is the only API key accepted; "" accepts any. A request
	// without a credential is refused either way.
	Credential string
	// EnvironmentKey opens the work queues of all environments; "" for a new
	// random one (see Server.EnvironmentKey).
	EnvironmentKey string
	// LeaseTTL is how long a worker keeps a work item without a heartbeat, at
	// least a second: 0 for DefaultLeaseTTL.
	LeaseTTL time.Duration
	// MountRoot is the directory that the mount paths of sessions' stores are
	// in: "" for DefaultMountRoot.
	MountRoot string
	// Now is the clock; nil for time.Now.
	Now func() time.Time
	// Log gets one line a request at debug level and failures of the server
	// itself as errors; nil for none. Contents, paths of memories and
	// credentials are never logged.
	Log *zap.Logger
}

// Server is the embedded store of one directory. It is safe for concurrent use.
type Server struct {
	options Options
	db      *sql.DB
	handler http.Handler
	agents  *agents
	// writing makes writers of this process queue up here, in order, instead of
	// polling for SQLite's lock.
	writing sync.Mutex
}

// Open opens the store in dir, and makes it and the directory (mode 0700) if
// they do not exist. The caller closes the server.
func Open(dir string, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(dir)
	if err != nil {
		return nil, fmt.Errorf("local store in %s: %w", dir, err)
	}
	s := &Server{options: o, db: db, agents: newAgents(o)}
	s.handler = s.routes()
	return s, nil
}

// Handler serves the API.
func (s *Server) Handler() http.Handler { return s.handler }

// EnvironmentKey is the key that workers poll with: ANTHROPIC_ENVIRONMENT_KEY.
func (s *Server) EnvironmentKey() string { return s.options.EnvironmentKey }

// EndStreams ends the requests that wait for something to happen: event
// streams and polls. An HTTP server that shuts down calls it first
// (http.Server.RegisterOnShutdown), since it waits for them.
func (s *Server) EndStreams() { s.agents.close() }

// Close ends the server. Requests must have ended: what is still running fails.
func (s *Server) Close() error {
	s.EndStreams()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close local store: %w", err)
	}
	return nil
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxContent == 0 {
		o.MaxContent = store.MaxContent
	}
	if o.MaxPath == 0 {
		o.MaxPath = store.MaxPath
	}
	if o.MaxMemories == 0 {
		o.MaxMemories = store.DefaultMaxMemories
	}
	if o.MaxContent < 0 || o.MaxContent > store.MaxContent {
		return o, fmt.Errorf("local store: content limit %d is not within 1..%d", o.MaxContent, store.MaxContent)
	}
	if o.MaxPath < 0 || o.MaxPath > store.MaxPath {
		return o, fmt.Errorf("local store: path limit %d is not within 1..%d", o.MaxPath, store.MaxPath)
	}
	if o.MaxMemories < 0 {
		return o, fmt.Errorf("local store: limit of %d memories is negative", o.MaxMemories)
	}
	if o.EnvironmentKey == "" {
		o.EnvironmentKey = environmentKeyPrefix + rand.Text()
	}
	if o.LeaseTTL == 0 {
		o.LeaseTTL = DefaultLeaseTTL
	}
	if o.LeaseTTL < time.Second {
		return o, fmt.Errorf("local store: a lease of %s is shorter than a second", o.LeaseTTL)
	}
	if o.MountRoot == "" {
		o.MountRoot = DefaultMountRoot
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o, nil
}
