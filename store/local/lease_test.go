package local

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// beat sends a heartbeat; expected "" sends none.
func beat(t *testing.T, s *Server, work, expected string) agentsAnswer {
	t.Helper()
	query := ""
	if expected != "" {
		query = "?expected_last_heartbeat=" + expected
	}
	return try(t, s, s.EnvironmentKey(), "POST", work+"/heartbeat"+query, "")
}

func TestHeartbeats(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now, LeaseTTL: 10 * time.Second})
	startSession(t, s)
	work, _ := claimed(t, s)
	item := func() object { return try(t, s, anAPIKey, "GET", work, "").ok(t) }
	require.Equal(t, "starting", item()["state"])
	require.Nil(t, item()["started_at"])

	first := beat(t, s, work, noHeartbeat).ok(t)
	require.Equal(t, object{
		"type": "work_heartbeat", "state": "active", "lease_extended": true, "ttl_seconds": 10.0, "last_heartbeat": first["last_heartbeat"],
	}, first)
	require.Equal(t, first["last_heartbeat"], item()["latest_heartbeat_at"])
	require.Equal(t, first["last_heartbeat"], item()["started_at"])

	lost := beat(t, s, work, noHeartbeat).require(t, http.StatusPreconditionFailed, "invalid_request_error")
	require.Equal(t, object{
		"error_code": "heartbeat_precondition_failed", "error_visibility": "user_facing",
		"current_state": object{
			"state": "active", "last_heartbeat": first["last_heartbeat"], "lease_updated_at": first["last_heartbeat"],
			"lease_extended": false, "ttl_seconds": 10.0,
		},
	}, lost.object["error"].(object)["details"])

	second := beat(t, s, work, first["last_heartbeat"].(string)).ok(t)
	require.NotEqual(t, first["last_heartbeat"], second["last_heartbeat"], "beats of one instant differ")
	beat(t, s, work, first["last_heartbeat"].(string)).require(t, 412, "")
	beat(t, s, work, "").ok(t)
}

func TestDesiredTTLShortensTheLease(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now, LeaseTTL: 10 * time.Second})
	x := startSession(t, s)
	work, _ := claimed(t, s)
	for desired, want := range map[string]any{"3": 3.0, "10": 10.0, "11": 10.0, "99999": 10.0} {
		a := try(t, s, s.EnvironmentKey(), "POST", work+"/heartbeat?desired_ttl_seconds="+desired, "").ok(t)
		require.Equal(t, want, a["ttl_seconds"], desired)
	}
	for _, desired := range []string{"0", "-1", "x"} {
		try(t, s, s.EnvironmentKey(), "POST", work+"/heartbeat?desired_ttl_seconds="+desired, "").require(t, 400, "")
	}
	try(t, s, s.EnvironmentKey(), "POST", work+"/heartbeat?desired_ttl_seconds=3", "").ok(t)
	now.advance(3 * time.Second)
	require.NoError(t, x.WaitWork(t.Context(), queued))
}

func TestLapsedLeaseIsQueuedAgain(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now, LeaseTTL: 10 * time.Second})
	x := startSession(t, s)
	work, token := claimed(t, s)
	now.advance(9 * time.Second)
	last := beat(t, s, work, noHeartbeat).ok(t)["last_heartbeat"].(string)
	now.advance(9 * time.Second)
	last = beat(t, s, work, last).ok(t)["last_heartbeat"].(string)
	require.Nil(t, poll(t, s))

	now.advance(10 * time.Second)
	lost := beat(t, s, work, last).require(t, 412, "")
	require.Equal(t, "queued", lost.object["error"].(object)["details"].(object)["current_state"].(object)["state"])
	beat(t, s, work, noHeartbeat).require(t, 412, "")

	again, newToken := claimed(t, s)
	require.Equal(t, work, again, "the same item")
	require.Equal(t, token, newToken)
	beat(t, s, work, last).require(t, 412, "")
	beat(t, s, work, noHeartbeat).ok(t)
	require.NoError(t, x.WaitWork(t.Context(), active))
}

func TestAcknowledgedWithoutHeartbeatLapsesToo(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now, LeaseTTL: 10 * time.Second})
	startSession(t, s)
	work, _ := claimed(t, s)
	now.advance(10 * time.Second)
	require.Equal(t, work, workPath+"/"+poll(t, s)["id"].(string))
}

func TestForcedLeaseLoss(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := startSession(t, s)
	x.LoseLease()
	work, _ := claimed(t, s)
	last := beat(t, s, work, noHeartbeat).ok(t)["last_heartbeat"].(string)
	x.LoseLease()
	beat(t, s, work, last).require(t, 412, "")
	require.NotNil(t, poll(t, s))
}

func TestStops(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now, LeaseTTL: 10 * time.Second})
	stop := func(work, body string) agentsAnswer {
		return try(t, s, s.EnvironmentKey(), "POST", work+"/stop", body)
	}
	requireStopped := func(work string) {
		t.Helper()
		item := try(t, s, anAPIKey, "GET", work, "").ok(t)
		require.Equal(t, "stopped", item["state"])
		require.NotNil(t, item["stopped_at"])
		require.NotNil(t, item["stop_requested_at"])
		stop(work, `{"force":true}`).require(t, 409, "conflict_error")
		try(t, s, s.EnvironmentKey(), "POST", work+"/ack", "").require(t, 409, "conflict_error")
		require.Equal(t, object{
			"type": "work_heartbeat", "state": "stopped", "lease_extended": false, "last_heartbeat": item["latest_heartbeat_at"], "ttl_seconds": 10.0,
		}, beat(t, s, work, "anything").ok(t))
		require.Nil(t, poll(t, s))
	}

	t.Run("forced", func(t *testing.T) {
		startSession(t, s)
		work, _ := claimed(t, s)
		beat(t, s, work, noHeartbeat).ok(t)
		a := stop(work, `{"force":true}`)
		require.Equal(t, http.StatusNoContent, a.status)
		require.Empty(t, a.text)
		require.Empty(t, a.header.Get("Content-Type"))
		require.NotEmpty(t, a.header.Get("request-id"))
		requireStopped(work)
	})
	t.Run("graceful", func(t *testing.T) {
		startSession(t, s)
		work, _ := claimed(t, s)
		beat(t, s, work, noHeartbeat).ok(t)
		for _, body := range []string{"", "{}", `{"force":false}`} {
			require.Equal(t, http.StatusNoContent, stop(work, body).status)
		}
		told := beat(t, s, work, "not-compared").ok(t)
		require.Equal(t, "stopping", told["state"])
		require.Equal(t, true, told["lease_extended"])
		require.Nil(t, poll(t, s))
		require.Equal(t, http.StatusNoContent, stop(work, `{"force":true}`).status)
		requireStopped(work)
	})
	t.Run("graceful, the worker is gone", func(t *testing.T) {
		startSession(t, s)
		work, _ := claimed(t, s)
		beat(t, s, work, noHeartbeat).ok(t)
		stop(work, "")
		now.advance(10 * time.Second)
		requireStopped(work)
	})
	t.Run("by the test", func(t *testing.T) {
		x := startSession(t, s)
		work, _ := claimed(t, s)
		beat(t, s, work, noHeartbeat).ok(t)
		x.StopWork(false)
		require.Equal(t, "stopping", beat(t, s, work, "").ok(t)["state"])
		x.StopWork(true)
		x.StopWork(true)
		requireStopped(work)
	})
	t.Run("nobody has it", func(t *testing.T) {
		x := startSession(t, s)
		x.StopWork(false)
		require.Nil(t, poll(t, s))
		require.NoError(t, x.WaitWork(t.Context(), stopped))
	})
	t.Run("a bad body", func(t *testing.T) {
		startSession(t, s)
		work, _ := claimed(t, s)
		stop(work, `{"now":true}`).require(t, 400, "invalid_request_error")
	})
}
