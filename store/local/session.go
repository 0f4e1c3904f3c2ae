package local

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
)

// The states of a session.
const (
	idle       = "idle"
	running    = "running"
	terminated = "terminated"
)

// SessionSpec describes a new session.
type SessionSpec struct {
	// Environment is the environment to serve it: "" for DefaultEnvironment.
	// Every name is one; it is made by its first use.
	Environment string
	// Agent is the id of the agent; there is none behind it but the script.
	Agent    string
	Title    string
	Metadata map[string]string
	Stores   []Attachment
	Script   Script
	Faults   Faults
}

// Faults are what is wrong with the work of a session, for tests of a worker.
type Faults struct {
	// Secret replaces the secret that a poll hands out; "" in it is none.
	Secret *string
	// WorkType replaces "session" as the type of the work; the API also has
	// "healthcheck".
	WorkType string
}

// Session is a session of the server, with a scripted agent. It is safe for
// concurrent use.
type Session struct {
	agents *agents
	// Set once.
	id        string
	spec      SessionSpec
	created   stamp
	resources []resource
	skills    []skill

	// Under the lock of agents.
	status   string
	archived *stamp
	events   []event
	calls    []ToolCall
	answers  []Answer // of the first calls
	pending  string   // the event of the call that waits for its answer
	end      string
}

// StartSession makes a session and queues it for a worker.
func (s *Server) StartSession(ctx context.Context, spec SessionSpec) (*Session, error) {
	return s.startSession(ctx, spec, nil)
}

func (s *Server) startSession(ctx context.Context, spec SessionSpec, first []event) (*Session, error) {
	if spec.Environment == "" {
		spec.Environment = DefaultEnvironment
	}
	if err := spec.Script.check(); err != nil {
		return nil, err
	}
	resources, err := s.attach(ctx, spec.Stores)
	if err != nil {
		return nil, err
	}
	spec.Metadata = maps.Clone(spec.Metadata)
	x := &Session{
		agents: s.agents, id: "sesn_" + rand.Text(), spec: spec, resources: resources,
		status: idle, calls: slices.Clone(spec.Script.Calls), end: spec.Script.End,
	}
	x.skills = skillsOf(x)
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	x.created = s.agents.now()
	s.agents.sessions = append(s.agents.sessions, x)
	for _, e := range first {
		x.record(e)
	}
	s.agents.enqueue(x)
	x.proceed()
	return x, nil
}

// Session returns the session with this id; ended ones are kept, until the
// server ends.
func (s *Server) Session(id string) (*Session, error) {
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	for _, x := range s.agents.sessions {
		if x.id == id {
			return x, nil
		}
	}
	return nil, unknown("session", id)
}

// ID is the session's id.
func (x *Session) ID() string { return x.id }

// attached returns the resource of a store.
func (x *Session) attached(store string) (resource, bool) {
	for _, r := range x.resources {
		if r.MemoryStoreID == store {
			return r, true
		}
	}
	return resource{}, false
}

// ended: nothing is taken any more. The caller holds the lock, here and below.
func (x *Session) ended() bool { return x.status == terminated }

// setStatus changes what the session does, with the event that says so.
func (x *Session) setStatus(status string) {
	if x.status != status {
		x.status = status
		x.record(event{Type: "session.status_" + status})
	}
}

// rest makes the session idle.
func (x *Session) rest(why stopReason) {
	x.status = idle
	x.record(event{Type: "session.status_idle", StopReason: &why})
}

func (x *Session) terminate() { x.setStatus(terminated) }

// record adds an event to the session's log.
func (x *Session) record(e event) event {
	e.ID, e.ProcessedAt = "sevt_"+rand.Text(), x.agents.now()
	x.events = append(x.events, e)
	return e
}

// last returns the newest event, or none.
func (x *Session) last() event {
	if len(x.events) == 0 {
		return event{}
	}
	return x.events[len(x.events)-1]
}
