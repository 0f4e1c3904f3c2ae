package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"
)

// The beta headers of the API. A request to a memory endpoint carries exactly
// one of them, one to the other endpoints agentsBeta.
const (
	memoryBeta = "agent-memory-2026-07-22"
	agentsBeta = "managed-agents-2026-04-01"
)

// bodyRoom is what a body may hold besides a content, every byte of which can
// take six as JSON.
const bodyRoom = 64 << 10

// call is one request on its way through an endpoint.
type call struct {
	request *http.Request
	query   url.Values
	body    []byte
	caller
}

// endpoint answers one call with the object to be sent (or a reply that sends
// itself), or an error that failureOf knows.
type endpoint func(*call) (any, error)

// reply is an answer that is not one JSON object. The header says already
// which request it answers.
type reply interface {
	send(w http.ResponseWriter, r *http.Request)
}

// noContent is an answer without a body, as the API gives one to a stop.
type noContent struct{}

func (noContent) send(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	s.routeStores(mux)
	s.routeMemories(mux)
	s.routeVersions(mux)
	s.routeSessions(mux)
	s.routeSkills(mux)
	s.routeWork(mux)
	mux.Handle("/", s.serve(func(c *call) (any, error) {
		return nil, unknown("endpoint", c.request.Method+" "+c.request.URL.Path)
	}))
	return mux
}

// serveMemory is serve for the endpoints of one store and its memories: with
// their beta rule and credentials.
func (s *Server) serveMemory(f endpoint) http.Handler {
	return s.serveFor(apiKey|sessionsToken, checkMemoryBeta, func(c *call) (any, error) {
		if err := c.checkStore(); err != nil {
			return nil, err
		}
		return f(c)
	})
}

// serveStores is serve for the endpoints of all stores, and for those that
// change one itself.
func (s *Server) serveStores(f endpoint) http.Handler {
	return s.serveFor(apiKey, checkMemoryBeta, f)
}

// serveAgents is serve for the endpoints of sessions and of the work queue,
// which take the credentials in allowed.
func (s *Server) serveAgents(allowed role, f endpoint) http.Handler {
	return s.serveFor(allowed, checkAgentsBeta, f)
}

func (s *Server) serveFor(allowed role, checkBeta func(http.Header) error, f endpoint) http.Handler {
	return s.serve(func(c *call) (any, error) {
		if err := checkBeta(c.request.Header); err != nil {
			return nil, err
		}
		who, err := s.authenticate(c.request, allowed)
		if err != nil {
			return nil, err
		}
		c.caller = who
		return f(c)
	})
}

// serve makes an HTTP handler of an endpoint.
func (s *Server) serve(f endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := "req_" + rand.Text()
		status, answer := http.StatusOK, any(nil)
		c, err := s.accept(w, r)
		if err == nil {
			answer, err = f(c)
		}
		if err != nil {
			f := failureOf(err)
			status, answer = f.status, envelope{Type: "error", Error: f, RequestID: id}
		}
		s.log(r, id, status, err)
		w.Header().Set("request-id", id)
		if own, ok := answer.(reply); ok && err == nil {
			own.send(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.MarshalWrite(w, answer) // only fails when the client is gone
	})
}

// accept reads a request as far as every endpoint needs it.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) (*call, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid("query string: %v", err)
	}
	if r.Body == nil { // a client's request, passed on within the process
		return &call{request: r, query: query}, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(6*s.options.MaxContent+bodyRoom)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errTooLarge
	case err != nil:
		return nil, invalid("read the body: %v", err)
	}
	return &call{request: r, query: query, body: body}, nil
}

func (s *Server) log(r *http.Request, id string, status int, err error) {
	fields := []zap.Field{
		zap.String("method", r.Method), zap.String("path", r.URL.Path),
		zap.Int("status", status), zap.String("request_id", id),
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.options.Log.Error("request failed", append(fields, zap.String("code", "local_store"), zap.Error(err))...)
		return
	}
	s.options.Log.Debug("request", fields...)
}

func (c *call) context() context.Context { return c.request.Context() }

func (c *call) storeID() string     { return c.request.PathValue("store") }
func (c *call) memoryID() string    { return c.request.PathValue("memory") }
func (c *call) versionID() string   { return c.request.PathValue("version") }
func (c *call) sessionID() string   { return c.request.PathValue("session") }
func (c *call) environment() string { return c.request.PathValue("environment") }
func (c *call) workID() string      { return c.request.PathValue("work") }

// decode reads the body into the struct that v points to: one JSON object,
// valid Unicode, no name twice and none that v lacks.
func (c *call) decode(v any) error {
	if first := bytes.TrimLeft(c.body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return invalid("the body is not a JSON object")
	}
	if err := json.Unmarshal(c.body, v, json.RejectUnknownMembers(true)); err != nil {
		var semantic *json.SemanticError
		if errors.As(err, &semantic) {
			return invalid("body: %s: unknown name or wrong type", semantic.JSONPointer)
		}
		return invalid("body: not valid JSON")
	}
	return nil
}

// decodeNothing accepts no body or an empty object.
func (c *call) decodeNothing() error {
	if len(c.body) == 0 {
		return nil
	}
	return c.decode(&struct{}{})
}

func checkMemoryBeta(h http.Header) error {
	betas := betasOf(h)
	if slices.Contains(betas, memoryBeta) == slices.Contains(betas, agentsBeta) {
		return invalid("anthropic-beta must name one of %s and %s, not both", memoryBeta, agentsBeta)
	}
	return nil
}

func checkAgentsBeta(h http.Header) error {
	if !slices.Contains(betasOf(h), agentsBeta) {
		return invalid("anthropic-beta must name %s", agentsBeta)
	}
	return nil
}

func betasOf(h http.Header) (betas []string) {
	for _, line := range h.Values("anthropic-beta") {
		for beta := range strings.SplitSeq(line, ",") {
			betas = append(betas, strings.TrimSpace(beta))
		}
	}
	return betas
}
