package local

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// say sends one event to a session.
func say(t *testing.T, s *Server, x *Session, e object) agentsAnswer {
	t.Helper()
	body, err := json.Marshal(object{"events": []object{e}})
	require.NoError(t, err)
	return try(t, s, s.EnvironmentKey(), "POST", "/v1/sessions/"+x.ID()+"/events", string(body))
}

// result is a user.tool_result.
func result(id any, text string, isError bool) object {
	return object{"type": "user.tool_result", "tool_use_id": id, "is_error": isError,
		"content": []object{{"type": "text", "text": text}}}
}

// log lists a session's events.
func log(t *testing.T, s *Server, x *Session, query string) (events []object) {
	t.Helper()
	for _, e := range try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID()+"/events"+query, "").ok(t)["data"].([]any) {
		events = append(events, e.(object))
	}
	return events
}

func kinds(events []object) (kinds []string) {
	for _, e := range events {
		kinds = append(kinds, e["type"].(string))
	}
	return kinds
}

// lastCall is the newest tool call of a session.
func lastCall(t *testing.T, s *Server, x *Session) object {
	t.Helper()
	for _, e := range log(t, s, x, "?order=desc&limit=1000") {
		if e["type"] == "agent.tool_use" {
			return e
		}
	}
	require.Fail(t, "no tool call")
	return nil
}

const script = `"memfs_script":{"calls":[{"name":"bash","input":{"command":"ls"}},{"name":"read","input":{"path":"a"}}]`

// scripted makes a session over HTTP.
func scripted(t *testing.T, s *Server, end string) *Session {
	t.Helper()
	body := `{"agent":"a","environment_id":"` + DefaultEnvironment + `",` + script + end + `}}`
	x, err := s.Session(try(t, s, anAPIKey, "POST", "/v1/sessions", body).ok(t)["id"].(string))
	require.NoError(t, err)
	return x
}

func TestScriptIsServedCallByCall(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := scripted(t, s, "")
	first := lastCall(t, s, x)
	require.Equal(t, object{"id": first["id"], "type": "agent.tool_use", "processed_at": first["processed_at"],
		"name": "bash", "input": object{"command": "ls"}, "evaluated_permission": "allow"}, first)
	waiting := log(t, s, x, "?order=desc&limit=1")[0]
	require.Equal(t, object{"type": "requires_action", "event_ids": []any{first["id"]}}, waiting["stop_reason"])
	require.Equal(t, "idle", try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID(), "").ok(t)["status"])

	sent := say(t, s, x, result(first["id"], "a\nb", false)).ok(t)["data"].([]any)
	require.Len(t, sent, 1)
	require.NotEmpty(t, sent[0].(object)["id"])
	second := lastCall(t, s, x)
	require.Equal(t, "read", second["name"])
	say(t, s, x, result(first["id"], "late", false)).require(t, 400, "invalid_request_error")
	say(t, s, x, result("sevt_none", "whose?", false)).require(t, 400, "invalid_request_error")
	say(t, s, x, result(second["id"], "no such file", true)).ok(t)

	require.NoError(t, x.Wait(t.Context()))
	require.Equal(t, []Answer{
		{Call: ToolCall{"bash", object{"command": "ls"}}, ID: first["id"].(string), Text: "a\nb"},
		{Call: ToolCall{"read", object{"path": "a"}}, ID: second["id"].(string), Text: "no such file", Error: true},
	}, x.Answers())
	require.Equal(t, []string{
		"session.status_running", "agent.tool_use", "session.status_idle",
		"user.tool_result", "session.status_running", "agent.tool_use", "session.status_idle",
		"user.tool_result", "session.status_running", "session.status_terminated",
	}, kinds(log(t, s, x, "")))
	say(t, s, x, object{"type": "user.message", "content": []object{}}).require(t, 400, "invalid_request_error")
	require.Equal(t, "terminated", try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID(), "").ok(t)["status"])
}

func TestScriptThatEndsIdle(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := scripted(t, s, `,"end":"idle"`)
	for range 2 {
		say(t, s, x, result(lastCall(t, s, x)["id"], "", false)).ok(t)
	}
	require.NoError(t, x.Wait(t.Context()))
	for range 2 {
		last := log(t, s, x, "?order=desc&limit=1")[0]
		require.Equal(t, "session.status_idle", last["type"])
		require.Equal(t, object{"type": "end_turn"}, last["stop_reason"])
		say(t, s, x, object{"type": "user.message", "content": []object{{"type": "text", "text": "go on"}}}).ok(t)
	}
}

// A session whose worker gave up waits for somebody to speak to it.
func TestMessageAndInterruptQueueTheSessionAgain(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := scripted(t, s, "")
	work, token := claimed(t, s)
	say(t, s, x, object{"type": "user.message", "content": []object{}}).ok(t)
	require.Nil(t, poll(t, s), "it has a worker")
	try(t, s, token, "POST", work+"/stop", `{"force":true}`).require(t, 204, "")
	require.Nil(t, poll(t, s))

	first := lastCall(t, s, x)
	say(t, s, x, object{"type": "user.message", "content": []object{}}).ok(t)
	again, newToken := claimed(t, s)
	require.NotEqual(t, work, again)
	require.NotEqual(t, token, newToken)
	require.Equal(t, first, lastCall(t, s, x), "the call still waits")
	try(t, s, newToken, "GET", "/v1/sessions/"+x.ID(), "").ok(t)
	try(t, s, token, "POST", again+"/stop", "").require(t, 403, "permission_error")
	try(t, s, newToken, "POST", again+"/stop", `{"force":true}`).require(t, 204, "")

	interrupt := say(t, s, x, object{"type": "user.interrupt"}).ok(t)["data"].([]any)[0].(object)
	require.NotNil(t, poll(t, s))
	require.Equal(t, []Answer{{Call: x.spec.Script.Calls[0], ID: first["id"].(string), Interrupted: true}}, x.Answers())
	second := lastCall(t, s, x)
	require.Equal(t, "read", second["name"])
	require.Greater(t, second["processed_at"], interrupt["processed_at"], "the interrupt is not about the next call")
	say(t, s, x, result(first["id"], "too late", false)).require(t, 400, "invalid_request_error")
}

func TestRefusedEvents(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := scripted(t, s, "")
	id := lastCall(t, s, x)["id"]
	for _, e := range []object{
		{"type": "agent.message"}, {"type": ""}, {"type": "user.tool_result"}, {"type": "user.message", "extra": 1},
		{"type": "user.tool_result", "tool_use_id": id, "content": "text"},
	} {
		say(t, s, x, e).require(t, 400, "invalid_request_error")
	}
	require.Empty(t, x.Answers())
	say(t, s, x, object{"type": "user.tool_result", "tool_use_id": id}).ok(t)
	require.Empty(t, x.Answers()[0].Text)
	try(t, s, anAPIKey, "POST", "/v1/sessions/sesn_none/events", `{"events":[]}`).require(t, 404, "")
}

func TestEventPages(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := scripted(t, s, "")
	all := log(t, s, x, "?limit=1000")
	require.Len(t, all, 3)
	page := try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID()+"/events?limit=2", "").ok(t)
	require.Equal(t, []any{any(all[0]), any(all[1])}, page["data"])
	next := page["next_page"].(string)
	page = try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID()+"/events?limit=2&page="+next, "").ok(t)
	require.Equal(t, []any{any(all[2])}, page["data"])
	require.Nil(t, page["next_page"])
	require.Equal(t, all[2], log(t, s, x, "?order=desc")[0])
	for _, query := range []string{"limit=1001", "limit=0", "order=up", "order=desc&page=" + next} {
		try(t, s, anAPIKey, "GET", "/v1/sessions/"+x.ID()+"/events?"+query, "").require(t, 400, "")
	}
}

// A stream begins with what comes after it was opened, and ends with the
// session.
func TestStream(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	x := scripted(t, s, "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/v1/sessions/"+x.ID()+"/events/stream", nil)
	require.NoError(t, err)
	r.Header.Set("anthropic-beta", agentsBeta)
	r.Header.Set("x-api-key", anAPIKey)
	answer, err := newClient(t).Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	for range 2 {
		say(t, s, x, result(lastCall(t, s, x)["id"], "", false)).ok(t)
	}
	var got []object
	var name string
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "event":
			name = value
		case "data":
			var e object
			require.NoError(t, json.Unmarshal([]byte(value), &e))
			require.Equal(t, name, e["type"])
			got = append(got, e)
		}
	}
	require.NoError(t, lines.Err())
	require.Equal(t, log(t, s, x, "")[3:], got)
}
