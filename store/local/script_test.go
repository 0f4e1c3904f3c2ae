package local

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCallsByHand(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := startSession(t, s)
	require.Equal(t, []string{"session.status_running"}, kinds(log(t, s, x, "")), "the agent has time")
	answers := make(chan Answer)
	for _, text := range []string{"one", "two"} {
		go func() {
			a, err := x.Call(t.Context(), ToolCall{"bash", object{"command": text}})
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
		require.NoError(t, x.agents.await(t.Context(), func() bool { return x.pending != "" }))
		say(t, s, x, result(lastCall(t, s, x)["id"], text, false)).ok(t)
		a := <-answers
		require.Equal(t, text, a.Text)
		require.Equal(t, text, a.Call.Input["command"])
	}
	require.Len(t, x.Answers(), 2)

	_, err := x.Call(t.Context(), ToolCall{})
	require.Error(t, err, "a call needs a tool")
	require.Error(t, x.End("somehow"))
	require.NoError(t, x.End(EndTerminated))
	require.NoError(t, x.Wait(t.Context()))
	_, err = x.Call(t.Context(), ToolCall{Name: "bash"})
	require.ErrorIs(t, err, ErrEnded)
}

func TestCallThatNobodyAnswers(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := startSession(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Call(ctx, ToolCall{Name: "bash"})
	require.ErrorIs(t, err, context.Canceled)

	failed := make(chan error)
	go func() {
		_, err := x.Call(t.Context(), ToolCall{Name: "bash"})
		failed <- err
	}()
	require.NoError(t, x.agents.await(t.Context(), func() bool { return len(x.calls) == 2 }))
	x.archive()
	require.ErrorIs(t, <-failed, ErrEnded)

	x = startSession(t, s)
	s.EndStreams()
	_, err = x.Call(t.Context(), ToolCall{Name: "bash"})
	require.ErrorIs(t, err, errClosed)
}
