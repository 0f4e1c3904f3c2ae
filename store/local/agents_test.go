package local

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const anAPIKey = "sk-ant-api-test"

// clock is a clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// object is a JSON object of an answer.
type object = map[string]any

// agentsAnswer is an answer of the endpoints of sessions and work.
type agentsAnswer struct {
	status int
	header http.Header
	text   string
	object object
}

// try calls an endpoint of sessions or work within the process.
func try(t *testing.T, s *Server, key, method, path, body string) agentsAnswer {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("anthropic-beta", agentsBeta)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Anthropic-Worker-ID", "worker of the test")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	a := agentsAnswer{status: w.Code, header: w.Result().Header, text: string(text)}
	if w.Code != http.StatusNoContent {
		require.NoError(t, json.Unmarshal(text, &a.object), a.text)
	}
	return a
}

func (a agentsAnswer) require(t *testing.T, status int, kind string) agentsAnswer {
	t.Helper()
	require.Equal(t, status, a.status, a.text)
	if kind != "" {
		require.Equal(t, kind, a.object["error"].(object)["type"], a.text)
	}
	return a
}

func (a agentsAnswer) ok(t *testing.T) object { t.Helper(); return a.require(t, 200, "").object }

// storeID makes a store and returns its id.
func storeID(t *testing.T, s *Server, name string) string {
	t.Helper()
	body, err := json.Marshal(object{"name": name, "description": "about " + name})
	require.NoError(t, err)
	return ask(t, s, "POST", "/v1/memory_stores", string(body)).ok(t).object.ID
}

// startSession starts a session whose script is nothing but Session.Call.
func startSession(t *testing.T, s *Server, stores ...Attachment) *Session {
	t.Helper()
	x, err := s.StartSession(t.Context(), SessionSpec{Agent: "agent_test", Stores: stores, Script: Script{End: EndOpen}})
	require.NoError(t, err)
	return x
}

const workPath = "/v1/environments/" + DefaultEnvironment + "/work"

// poll asks for work once.
func poll(t *testing.T, s *Server) object {
	t.Helper()
	return try(t, s, s.EnvironmentKey(), "GET", workPath+"/poll", "").ok(t)
}

// claimed polls an item and acknowledges it, and returns its path and token.
func claimed(t *testing.T, s *Server) (path, token string) {
	t.Helper()
	item := poll(t, s)
	require.NotNil(t, item, "no work")
	path = workPath + "/" + item["id"].(string)
	try(t, s, s.EnvironmentKey(), "POST", path+"/ack", "").ok(t)
	return path, tokenOf(t, item)
}

// tokenOf reads the sessions token in a polled item.
func tokenOf(t *testing.T, item object) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(item["secret"].(string))
	require.NoError(t, err)
	var secret struct {
		SessionsToken string `json:"sessions_token"`
	}
	require.NoError(t, json.Unmarshal(raw, &secret))
	require.True(t, strings.HasPrefix(secret.SessionsToken, sessionsTokenPrefix))
	return secret.SessionsToken
}
