package local

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sessionObject is a session as the API writes it.
type sessionObject struct {
	Type               string            `json:"type"`
	ID                 string            `json:"id"`
	Agent              agentObject       `json:"agent"`
	EnvironmentID      string            `json:"environment_id"`
	Status             string            `json:"status"`
	Title              string            `json:"title"`
	Metadata           map[string]string `json:"metadata"`
	Resources          []resource        `json:"resources"`
	VaultIDs           []string          `json:"vault_ids"`
	OutcomeEvaluations []struct{}        `json:"outcome_evaluations"`
	Budget             *struct{}         `json:"budget"`
	Stats              struct{}          `json:"stats"`
	Usage              struct{}          `json:"usage"`
	CreatedAt          stamp             `json:"created_at"`
	UpdatedAt          stamp             `json:"updated_at"`
	ArchivedAt         *stamp            `json:"archived_at"`
}

// agentObject is the agent of a session.
type agentObject struct {
	Type        string     `json:"type"`
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     int        `json:"version"`
	System      string     `json:"system"`
	Model       modelName  `json:"model"`
	Skills      []skillRef `json:"skills"`
	Tools       []struct{} `json:"tools"`
	MCPServers  []struct{} `json:"mcp_servers"`
	Multiagent  *struct{}  `json:"multiagent"`
}

type modelName struct {
	ID string `json:"id"`
}

func (s *Server) routeSessions(mux *http.ServeMux) {
	const (
		one    = "/v1/sessions/{session}"
		anyKey = apiKey | environmentKey | sessionsToken
	)
	mux.Handle("POST /v1/sessions", s.serveAgents(apiKey, s.createSession))
	mux.Handle("GET /v1/sessions", s.serveAgents(apiKey, s.listSessions))
	mux.Handle("GET "+one, s.serveAgents(anyKey, s.getSession))
	mux.Handle("POST "+one+"/archive", s.serveAgents(apiKey, s.archiveSession))
	mux.Handle("GET "+one+"/events", s.serveAgents(anyKey, s.listEvents))
	mux.Handle("POST "+one+"/events", s.serveAgents(anyKey, s.sendEvents))
	mux.Handle("GET "+one+"/events/stream", s.serveAgents(anyKey, s.streamEvents))
}

// sessionBody is what a request says of a new session. A session without a
// script answers nothing to anybody.
type sessionBody struct {
	Agent         jsontext.Value    `json:"agent"`
	EnvironmentID string            `json:"environment_id"`
	Title         string            `json:"title"`
	Metadata      map[string]string `json:"metadata"`
	Resources     []resourceBody    `json:"resources"`
	VaultIDs      []string          `json:"vault_ids"`
	InitialEvents []userEvent       `json:"initial_events"`
	// Script is not of the API: the agent of the session.
	Script *Script `json:"memfs_script"`
}

type resourceBody struct {
	Type          string  `json:"type"`
	MemoryStoreID string  `json:"memory_store_id"`
	Access        *string `json:"access"`
	Instructions  *string `json:"instructions"`
}

func (b sessionBody) spec() (SessionSpec, error) {
	spec := SessionSpec{Environment: b.EnvironmentID, Title: b.Title, Metadata: b.Metadata, Script: Script{End: EndIdle}}
	if b.EnvironmentID == "" {
		return spec, invalid("environment_id is required")
	}
	if err := agentID(b.Agent, &spec.Agent); err != nil {
		return spec, err
	}
	if b.Script != nil {
		spec.Script = *b.Script
	}
	for _, r := range b.Resources {
		at, err := r.attachment()
		if err != nil {
			return spec, err
		}
		spec.Stores = append(spec.Stores, at)
	}
	return spec, nil
}

// agentID reads the agent of a new session: an id, or an object with one.
func agentID(agent jsontext.Value, id *string) error {
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(agent, id) != nil && json.Unmarshal(agent, &object) != nil {
		return invalid("agent is neither an id nor an object with one")
	}
	if *id += object.ID; *id == "" {
		return invalid("agent is required")
	}
	return nil
}

func (r resourceBody) attachment() (Attachment, error) {
	at := Attachment{Store: r.MemoryStoreID}
	if r.Type != "memory_store" {
		return at, invalid("a self-hosted environment takes no resource of type %q", r.Type)
	}
	if r.Access != nil && *r.Access != readWrite {
		if *r.Access != readOnly {
			return at, invalid("access %q is not %s or %s", *r.Access, readWrite, readOnly)
		}
		at.ReadOnly = true
	}
	if r.Instructions != nil {
		at.Instructions = *r.Instructions
	}
	return at, nil
}

func (s *Server) createSession(c *call) (any, error) {
	var body sessionBody
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	spec, err := body.spec()
	if err != nil {
		return nil, err
	}
	first, err := eventsOf(body.InitialEvents)
	if err != nil {
		return nil, err
	}
	x, err := s.startSession(c.context(), spec, first)
	if err != nil {
		return nil, err
	}
	return x.object(), nil
}

// sessionOf returns the session that a call names.
func (s *Server) sessionOf(c *call) (*Session, error) {
	x, err := s.Session(c.sessionID())
	if err != nil {
		return nil, err
	}
	return x, c.checkSession(x.id)
}

func (s *Server) getSession(c *call) (any, error) {
	x, err := s.sessionOf(c)
	if err != nil {
		return nil, err
	}
	return x.object(), nil
}

// archiveSession ends a session, whatever its script has left.
func (s *Server) archiveSession(c *call) (any, error) {
	if err := c.decodeNothing(); err != nil {
		return nil, err
	}
	x, err := s.sessionOf(c)
	if err != nil {
		return nil, err
	}
	x.archive()
	return x.object(), nil
}

func (s *Server) listSessions(c *call) (any, error) {
	limit, err := c.limit(false)
	if err != nil {
		return nil, err
	}
	archived, err := c.flag("include_archived")
	if err != nil {
		return nil, err
	}
	st := c.query.Get("memory_store_id")
	list := "sessions " + st + c.query.Get("include_archived")
	after, err := c.after(list)
	if err != nil {
		return nil, err
	}
	s.agents.mu.Lock()
	all := slices.Clone(s.agents.sessions)
	s.agents.mu.Unlock()
	slices.Reverse(all)
	var sessions []sessionObject
	for _, x := range all {
		o := x.object()
		if _, attached := x.attached(st); (st == "" || attached) && (archived || o.ArchivedAt == nil) {
			sessions = append(sessions, o)
		}
	}
	return pageAfter(sessions, limit, list, after, func(o sessionObject) string { return o.ID }), nil
}

// archive terminates the session and marks it; a second time does nothing.
func (x *Session) archive() {
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	if x.archived == nil {
		x.setStatus(terminated)
		now := x.agents.now()
		x.archived = &now
		x.agents.changed()
	}
}

func (x *Session) object() sessionObject {
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	updated := max(x.created, x.last().ProcessedAt)
	if x.archived != nil {
		updated = *x.archived
	}
	return sessionObject{
		Type: "session", ID: x.id, EnvironmentID: x.spec.Environment, Status: x.status, Title: x.spec.Title,
		Agent:    agentObject{Type: "agent", ID: x.spec.Agent, Name: x.spec.Agent, Version: 1, Model: modelName{ID: "script"}, Skills: refs(x.skills)},
		Metadata: x.spec.Metadata, Resources: x.resources,
		CreatedAt: x.created, UpdatedAt: updated, ArchivedAt: x.archived,
	}
}
