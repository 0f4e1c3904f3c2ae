package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrEnded: the session takes no more tool calls.
var ErrEnded = errors.New("the session has ended")

// What a session does when all calls of its script are answered.
const (
	// EndTerminated ends the session; a worker lets go of it at once.
	EndTerminated = "terminated"
	// EndIdle ends the agent's turn; a worker lets go after its idle time.
	EndIdle = "idle"
	// EndOpen leaves the session running, for Session.Call and Session.End.
	EndOpen = "open"
)

// Script is what a session's agent does: tool calls, each made when the one
// before is answered.
type Script struct {
	// Skills are what the agent brings; their names differ.
	Skills []Skill    `json:"skills"`
	Calls  []ToolCall `json:"calls"`
	// End is what follows: EndTerminated (also for ""), EndIdle or
	// EndOpen.
	End string `json:"end"`
}

// ToolCall is one use of a tool by the agent.
type ToolCall struct {
	Name  string         `json:"name"`
	Input map[string]any `json:"input"`
}

// Answer is what became of a tool call.
type Answer struct {
	Call ToolCall
	// ID is the agent.tool_use event's.
	ID string
	// Text is the text of the result; blocks of other kinds are left out.
	Text string
	// Error: the tool failed.
	Error bool
	// Interrupted: a user.interrupt came first, there is no result.
	Interrupted bool
}

func (s Script) check() error {
	if !slices.Contains([]string{"", EndTerminated, EndIdle, EndOpen}, s.End) {
		return invalid("script: end %q is not %s, %s or %s", s.End, EndTerminated, EndIdle, EndOpen)
	}
	for _, c := range s.Calls {
		if c.Name == "" {
			return invalid("script: a call has no tool's name")
		}
	}
	names := make(map[string]bool)
	for _, k := range s.Skills {
		if err := k.check(); err != nil {
			return err
		}
		if names[k.Name] {
			return invalid("script: two skills are named %s", k.Name)
		}
		names[k.Name] = true
	}
	return nil
}

// Call makes a tool call after those that wait, and returns its answer. It
// fails with ErrEnded where the session ends first.
func (x *Session) Call(ctx context.Context, c ToolCall) (Answer, error) {
	if err := (Script{Calls: []ToolCall{c}}).check(); err != nil {
		return Answer{}, err
	}
	x.agents.mu.Lock()
	if x.ended() {
		x.agents.mu.Unlock()
		return Answer{}, fmt.Errorf("%w: %s", ErrEnded, x.id)
	}
	n := len(x.calls)
	x.calls = append(x.calls, c)
	x.proceed()
	x.agents.mu.Unlock()

	err := x.agents.await(ctx, func() bool { return len(x.answers) > n || x.ended() })
	if err != nil {
		return Answer{}, err
	}
	if answers := x.Answers(); len(answers) > n {
		return answers[n], nil
	}
	return Answer{}, fmt.Errorf("%w: %s", ErrEnded, x.id)
}

// End says what the session does when all its calls are answered:
// EndTerminated or EndIdle.
func (x *Session) End(how string) error {
	if err := (Script{End: how}).check(); err != nil {
		return err
	}
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	x.end = how
	x.proceed()
	return nil
}

// Answers returns the answers of the calls so far, in their order.
func (x *Session) Answers() []Answer {
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	return slices.Clone(x.answers)
}

// Wait returns when the script is done: every call answered, or the session
// terminated. EndOpen is no end: Session.End has to give one.
func (x *Session) Wait(ctx context.Context) error {
	return x.agents.await(ctx, func() bool { return x.ended() || x.end != EndOpen && len(x.answers) == len(x.calls) })
}

// proceed does the next thing of the script, unless a call waits for its
// answer. The caller holds the lock.
func (x *Session) proceed() {
	defer x.agents.changed()
	switch {
	case x.ended() || x.pending != "":
	case len(x.answers) < len(x.calls):
		c := x.calls[len(x.answers)]
		x.setStatus(running)
		x.pending = x.record(event{Type: agentToolUse, Name: c.Name, Input: c.Input, Permission: "allow"}).ID
		x.rest(stopReason{Type: "requires_action", EventIDs: []string{x.pending}})
	case x.end == EndOpen:
		x.setStatus(running)
	case x.end == EndIdle:
		if last := x.last(); last.StopReason == nil || last.StopReason.Type != endTurn {
			x.rest(stopReason{Type: endTurn})
		}
	default:
		x.terminate()
	}
}

// settle takes the answer to the pending call. The caller holds the lock, and
// proceeds.
func (x *Session) settle(a Answer) {
	a.Call, a.ID = x.calls[len(x.answers)], x.pending
	x.answers = append(x.answers, a)
	x.pending = ""
	x.setStatus(running)
}

// textOf joins the texts of a result's blocks.
func textOf(content jsontext.Value) (text string, err error) {
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if len(content) == 0 {
		return "", nil
	}
	if err := json.Unmarshal(content, &blocks); err != nil {
		return "", invalid("content is not an array of blocks")
	}
	for _, b := range blocks {
		if b.Type == "text" {
			text += b.Text
		}
	}
	return text, nil
}
