package worker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// answer is one answer to a heartbeat.
type answer struct {
	status int
	body   string
}

func extended(last string) answer {
	return answer{200, fmt.Sprintf(`{"type":"work_heartbeat","last_heartbeat":%q,"lease_extended":true,"state":"active","ttl_seconds":2}`, last)}
}

// held holds a lease against a server with these answers, the last of which it
// repeats, and returns it with what the heartbeats expected.
func held(t *testing.T, answers ...answer) (*lease, chan string, *observer.ObservedLogs) {
	t.Helper()
	expected := make(chan string, 100)
	n := 0
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		expected <- r.URL.Query().Get("expected_last_heartbeat")
		a := answers[min(n, len(answers)-1)]
		n++
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(a.status)
		_, _ = rw.Write([]byte(a.body))
	}))
	t.Cleanup(web.Close)
	transport := newTransport()
	t.Cleanup(transport.CloseIdleConnections)
	core, logs := observer.New(zap.DebugLevel)
	l := hold(newClient(web.URL, "token", transport), Item{ID: "work_1", EnvironmentID: "env_1"}, zap.New(core))
	t.Cleanup(func() { l.end() })
	return l, expected, logs
}

func await(t *testing.T, ctx context.Context) error { //nolint:revive // the test comes first
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Minute):
		require.Fail(t, "the lease does not end")
		return nil
	}
}

func TestLeaseEchoesTheLastHeartbeat(t *testing.T) {
	l, expected, _ := held(t, extended("one"), extended("two"))
	assert.Equal(t, noHeartbeat, <-expected)
	assert.Equal(t, "one", <-expected)
	assert.Equal(t, "two", <-expected)
	assert.True(t, l.end(), "held to the end")
}

func TestLeaseIsLost(t *testing.T) {
	l, _, logs := held(t, extended("one"), answer{412, `{"type":"error","error":{"type":"invalid_request_error","message":"m",
		"details":{"error_code":"heartbeat_precondition_failed","current_state":{"state":"queued","ttl_seconds":7,"last_heartbeat":"x"}}}}`})
	require.ErrorIs(t, await(t, l.lost), errLeaseLost)
	require.ErrorIs(t, await(t, l.over), errLeaseLost)
	assert.False(t, l.end())
	said := logs.FilterMessage("lease lost: heartbeat precondition failed").All()
	require.Len(t, said, 1)
	assert.Equal(t, "queued", said[0].ContextMap()["server_state"])
}

func TestLeaseEndsWithoutBeingLost(t *testing.T) {
	for name, a := range map[string]answer{
		"stopping":     {200, `{"type":"work_heartbeat","last_heartbeat":"x","lease_extended":true,"state":"stopping","ttl_seconds":2}`},
		"stopped":      {200, `{"type":"work_heartbeat","last_heartbeat":"","lease_extended":false,"state":"stopped","ttl_seconds":2}`},
		"not extended": {200, `{"type":"work_heartbeat","last_heartbeat":"x","lease_extended":false,"state":"active","ttl_seconds":2}`},
		"refused":      {401, `{"type":"error","error":{"type":"authentication_error","message":"m"}}`},
		"unknown":      {404, `{"type":"error","error":{"type":"not_found_error","message":"m"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			l, _, _ := held(t, a)
			require.ErrorIs(t, await(t, l.over), errToldToStop)
			assert.True(t, l.end(), "the item is to be stopped")
		})
	}
}

// Failures that pass are outlasted for one lease's time, and no longer.
func TestLeaseExpiresUnheard(t *testing.T) {
	l, _, logs := held(t, extended("one"), answer{503, `{"type":"error","error":{"type":"api_error","message":"m"}}`})
	require.ErrorIs(t, await(t, l.lost), errLeaseLost)
	assert.False(t, l.end())
	assert.NotEmpty(t, logs.FilterMessage("transient heartbeat failure").All())
	assert.Len(t, logs.FilterMessage("heartbeat staleness ceiling exceeded; lease presumed expired").All(), 1)
}

func TestLeaseOutlastsAFailure(t *testing.T) {
	l, expected, _ := held(t, extended("one"), answer{500, ""}, extended("two"))
	for _, want := range []string{noHeartbeat, "one", "one", "two"} {
		assert.Equal(t, want, <-expected)
	}
	assert.NoError(t, l.over.Err())
	assert.True(t, l.end())
}
