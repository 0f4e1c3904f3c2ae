package local

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPolledItem(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := startSession(t, s)
	item := poll(t, s)
	tokenOf(t, item)
	delete(item, "secret")
	require.Equal(t, object{
		"type": "work", "id": item["id"], "environment_id": DefaultEnvironment, "state": "queued", "metadata": object{},
		"data": object{"type": "session", "id": x.ID()}, "created_at": item["created_at"], "acknowledged_at": nil,
		"started_at": nil, "latest_heartbeat_at": nil, "stop_requested_at": nil, "stopped_at": nil,
	}, item)

	path := workPath + "/" + item["id"].(string)
	acked := try(t, s, s.EnvironmentKey(), "POST", path+"/ack", "").ok(t)
	require.Equal(t, "starting", acked["state"])
	require.NotNil(t, acked["acknowledged_at"])
	require.Equal(t, acked, try(t, s, s.EnvironmentKey(), "POST", path+"/ack", "").ok(t), "a lost answer does no harm")
	require.Equal(t, acked, try(t, s, anAPIKey, "GET", path, "").ok(t))
	require.Equal(t, []any{any(acked)}, try(t, s, s.EnvironmentKey(), "GET", workPath, "").ok(t)["data"])
	require.Nil(t, acked["secret"], "the secret is for who polls")
	try(t, s, anAPIKey, "GET", "/v1/environments/env_other/work/"+item["id"].(string), "").require(t, 404, "")
}

func TestFaultyWork(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	none, broken := "", "not base64!"
	for _, f := range []Faults{{Secret: &none}, {Secret: &broken, WorkType: "healthcheck"}} {
		_, err := s.StartSession(t.Context(), SessionSpec{Faults: f})
		require.NoError(t, err)
	}
	item := poll(t, s)
	require.Nil(t, item["secret"])
	require.Equal(t, "session", item["data"].(object)["type"])
	item = poll(t, s)
	require.Equal(t, broken, item["secret"])
	require.Equal(t, "healthcheck", item["data"].(object)["type"])
}

func TestPollParameters(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for query, status := range map[string]int{
		"": 200, "block_ms=1": 200, "block_ms=0": 400, "block_ms=1000": 400, "block_ms=x": 400,
		"reclaim_older_than_ms=0": 200, "reclaim_older_than_ms=-1": 400, "beta=true": 200,
	} {
		a := try(t, s, s.EnvironmentKey(), "GET", workPath+"/poll?"+query, "")
		require.Equal(t, status, a.status, query)
		if status == 200 {
			require.Equal(t, "null", a.text)
			require.Equal(t, "application/json", a.header.Get("Content-Type"))
		}
	}
}

func TestOldestFirstAndReclaim(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now})
	first, second := startSession(t, s), startSession(t, s)
	session := func(item object) any { return item["data"].(object)["id"] }
	reclaim := func(ms string) object {
		return try(t, s, s.EnvironmentKey(), "GET", workPath+"/poll?reclaim_older_than_ms="+ms, "").ok(t)
	}
	require.Nil(t, try(t, s, s.EnvironmentKey(), "GET", "/v1/environments/env_other/work/poll", "").ok(t))
	require.Equal(t, first.ID(), session(poll(t, s)))
	now.advance(2 * time.Second)
	require.Equal(t, second.ID(), session(poll(t, s)))
	require.Nil(t, poll(t, s))
	require.Equal(t, first.ID(), session(reclaim("2000")))
	now.advance(4999 * time.Millisecond)
	require.Nil(t, reclaim("6000"))
	now.advance(time.Millisecond)
	require.Equal(t, first.ID(), session(poll(t, s)), "five seconds unless said otherwise")
	require.Equal(t, second.ID(), session(poll(t, s)))
	require.Nil(t, poll(t, s))
}

func TestBlockedPollGetsWhatComes(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	items := make(chan object, 3)
	var polls sync.WaitGroup
	for range cap(items) {
		polls.Go(func() {
			items <- try(t, s, s.EnvironmentKey(), "GET", workPath+"/poll?block_ms=999", "").object
		})
	}
	x := startSession(t, s)
	polls.Wait()
	close(items)
	var got []any
	for item := range items {
		if item != nil {
			got = append(got, item["data"].(object)["id"])
		}
	}
	require.Equal(t, []any{x.ID()}, got, "one worker gets it")
}

func TestQueueStatsAndLabels(t *testing.T) {
	now := newClock()
	s := open(t, t.TempDir(), Options{Now: now.Now})
	stats := func() object { return try(t, s, anAPIKey, "GET", workPath+"/stats", "").ok(t) }
	require.Equal(t, object{"type": "work_queue_stats", "depth": 0.0, "pending": 0.0, "oldest_queued_at": nil, "workers_polling": 0.0}, stats())
	startSession(t, s)
	startSession(t, s)
	item := poll(t, s)
	require.Equal(t, object{"type": "work_queue_stats", "depth": 1.0, "pending": 1.0, "oldest_queued_at": item["created_at"], "workers_polling": 1.0}, stats())
	claimed(t, s)
	path := workPath + "/" + item["id"].(string)
	try(t, s, s.EnvironmentKey(), "POST", path+"/ack", "").ok(t)
	now.advance(31 * time.Second)
	require.Equal(t, object{"type": "work_queue_stats", "depth": 0.0, "pending": 0.0, "oldest_queued_at": nil, "workers_polling": 0.0}, stats())

	label := func(body string) any { return try(t, s, anAPIKey, "POST", path, body).ok(t)["metadata"] }
	require.Equal(t, object{"a": "1", "b": "2"}, label(`{"metadata":{"a":"1","b":"2"}}`))
	require.Equal(t, object{"b": "3"}, label(`{"metadata":{"a":null,"b":"3"}}`))
	try(t, s, anAPIKey, "POST", path, `{"metadata":{"":"x"}}`).require(t, 400, "")
	page := try(t, s, s.EnvironmentKey(), "GET", workPath+"?limit=1", "").ok(t)
	require.Len(t, page["data"], 1)
	next := try(t, s, s.EnvironmentKey(), "GET", workPath+"?limit=1&page="+page["next_page"].(string), "").ok(t)
	require.Equal(t, item["id"], next["data"].([]any)[0].(object)["id"])
	require.Nil(t, next["next_page"])
}

// An HTTP server that shuts down is not held up by who waits for something.
func TestEndStreams(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := startSession(t, s)
	require.NotNil(t, poll(t, s))
	web := httptest.NewServer(s.Handler())
	web.Config.RegisterOnShutdown(s.EndStreams)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/v1/sessions/"+x.ID()+"/events/stream", nil)
	require.NoError(t, err)
	r.Header.Set("anthropic-beta", agentsBeta)
	r.Header.Set("x-api-key", anAPIKey)
	answer, err := newClient(t).Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	require.NoError(t, web.Config.Shutdown(t.Context()))
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err, "the stream has an end")
	require.Nil(t, try(t, s, s.EnvironmentKey(), "GET", workPath+"/poll?block_ms=999", "").ok(t))
	web.Close()
}
