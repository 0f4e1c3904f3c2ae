package local

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of events that mean something to the server.
const (
	agentToolUse  = "agent.tool_use"
	userMessage   = "user.message"
	userInterrupt = "user.interrupt"
	userResult    = "user.tool_result"
	endTurn       = "end_turn"
)

// maxEvents is the largest page of events.
const maxEvents = 1_000

// event is an entry of a session's log as the API writes it. Its kind decides
// which of the other fields it has.
type event struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	ProcessedAt stamp          `json:"processed_at"`
	Name        string         `json:"name,omitzero"`
	Input       map[string]any `json:"input,omitzero"`
	Permission  string         `json:"evaluated_permission,omitzero"`
	StopReason  *stopReason    `json:"stop_reason,omitzero"`
	ToolUseID   string         `json:"tool_use_id,omitzero"`
	IsError     bool           `json:"is_error,omitzero"`
	Content     jsontext.Value `json:"content,omitzero"`
}

// stopReason says why a session is idle.
type stopReason struct {
	Type     string   `json:"type"`
	EventIDs []string `json:"event_ids,omitzero"`
}

// userEvent is an event as a client sends it.
type userEvent struct {
	Type      string         `json:"type"`
	ToolUseID string         `json:"tool_use_id"`
	IsError   bool           `json:"is_error"`
	Content   jsontext.Value `json:"content"`
}

func (u userEvent) event() (event, error) {
	switch u.Type {
	case userMessage, userInterrupt, userResult:
		return event{Type: u.Type, ToolUseID: u.ToolUseID, IsError: u.IsError, Content: u.Content}, nil
	default:
		return event{}, invalid("event type %q is not %s, %s or %s", u.Type, userMessage, userInterrupt, userResult)
	}
}

func eventsOf(sent []userEvent) ([]event, error) {
	events := make([]event, len(sent))
	for i, u := range sent {
		e, err := u.event()
		if err != nil {
			return nil, err
		}
		events[i] = e
	}
	return events, nil
}

// sendEvents takes events from a client, one after another: results of tools,
// and what else a user has to say. Those before one that is refused are taken.
func (s *Server) sendEvents(c *call) (any, error) {
	x, err := s.sessionOf(c)
	if err != nil {
		return nil, err
	}
	var body struct {
		Events []userEvent `json:"events"`
	}
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	events, err := eventsOf(body.Events)
	if err != nil {
		return nil, err
	}
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	for i, e := range events {
		if events[i], err = x.take(e); err != nil {
			return nil, err
		}
	}
	return page[event]{Data: events}, nil
}

// take lets one event from outside into the log, and does what follows from
// it. A session that no worker has is queued again for a message or an
// interrupt, not for a late result.
func (x *Session) take(e event) (event, error) {
	if x.ended() {
		return e, invalid("session %s has terminated", x.id)
	}
	var answer Answer
	if e.Type == userResult {
		if e.ToolUseID == "" || e.ToolUseID != x.pending {
			return e, invalid("no tool call %q waits for its result", e.ToolUseID)
		}
		text, err := textOf(e.Content)
		if err != nil {
			return e, err
		}
		answer = Answer{Text: text, Error: e.IsError}
	}
	e = x.record(e)
	switch {
	case e.Type == userResult:
		x.settle(answer)
	case e.Type == userInterrupt && x.pending != "":
		x.settle(Answer{Interrupted: true})
	}
	if e.Type != userResult {
		x.agents.enqueue(x)
	}
	x.proceed()
	return e, nil
}

func (s *Server) listEvents(c *call) (any, error) {
	x, err := s.sessionOf(c)
	if err != nil {
		return nil, err
	}
	limit, err := c.number("limit", defaultPage, 1, maxEvents)
	if err != nil {
		return nil, err
	}
	order := c.query.Get("order")
	if !slices.Contains([]string{"", "asc", "desc"}, order) {
		return nil, invalid("order %q is not asc or desc", order)
	}
	list := "events " + x.id + " " + order
	after, err := c.after(list)
	if err != nil {
		return nil, err
	}
	x.agents.mu.Lock()
	events := slices.Clone(x.events)
	x.agents.mu.Unlock()
	if order == "desc" {
		slices.Reverse(events)
	}
	return pageAfter(events, limit, list, after, func(e event) string { return e.ID }), nil
}

// streamEvents answers with the events that come from now on.
func (s *Server) streamEvents(c *call) (any, error) {
	x, err := s.sessionOf(c)
	if err != nil {
		return nil, err
	}
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	return stream{session: x, from: len(x.events)}, nil
}

// stream sends events of a session as they come, until the session has
// terminated, the client leaves or the server ends.
type stream struct {
	session *Session
	from    int
}

func (s stream) send(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for x, sent := s.session, s.from; out.Flush() == nil; {
		var events []event
		var ended bool
		err := x.agents.await(r.Context(), func() bool {
			events, ended = x.events[sent:], x.ended()
			return len(events) > 0 || ended
		})
		if err != nil {
			return
		}
		for _, e := range events {
			if e.write(w) != nil {
				return
			}
		}
		if sent += len(events); ended {
			_ = out.Flush()
			return
		}
	}
}

// write writes the event in the form of a server-sent one.
func (e event) write(w http.ResponseWriter) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = w.Write([]byte("event: " + e.Type + "\ndata: " + string(text) + "\n\n"))
	return err
}

// pageAfter makes the page that follows the item with the key after; "" is the
// first page.
func pageAfter[T any](items []T, limit int, list, after string, key func(T) string) page[T] {
	if i := slices.IndexFunc(items, func(t T) bool { return key(t) == after }); i >= 0 {
		items = items[i+1:]
	}
	return pageOf(items[:min(len(items), limit+1)], limit, list, key)
}
