package local

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Which endpoint takes which credential.
func TestCredentials(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	mine, other := storeID(t, s, "mine"), storeID(t, s, "other")
	x := startSession(t, s, Attachment{Store: mine})
	stranger := startSession(t, s, Attachment{Store: other})
	item := poll(t, s)
	token := tokenOf(t, item)
	work := workPath + "/" + item["id"].(string)
	otherWork := workPath + "/" + poll(t, s)["id"].(string)
	try(t, s, s.EnvironmentKey(), "POST", work+"/ack", "").ok(t)

	const stores = "/v1/memory_stores"
	for _, c := range []struct {
		method, path string
		// The statuses for an API key, the environment key and the token.
		api, environment, token int
	}{
		{"GET", stores, 200, 401, 401},
		{"GET", stores + "/" + mine, 200, 401, 200},
		{"GET", stores + "/" + other, 200, 401, 403},
		{"GET", stores + "/memstore_none", 404, 401, 403},
		{"POST", stores + "/" + mine, 400, 401, 401},
		{"GET", stores + "/" + mine + "/memories", 200, 401, 200},
		{"GET", stores + "/" + other + "/memories", 200, 401, 403},
		{"POST", stores + "/" + other + "/memories", 400, 401, 403},
		{"GET", stores + "/" + mine + "/memory_versions", 200, 401, 200},
		{"GET", "/v1/sessions", 200, 401, 401},
		{"POST", "/v1/sessions", 400, 401, 401},
		{"GET", "/v1/sessions/" + x.ID(), 200, 200, 200},
		{"GET", "/v1/sessions/" + stranger.ID(), 200, 200, 403},
		{"GET", "/v1/sessions/" + x.ID() + "/events", 200, 200, 200},
		{"GET", "/v1/sessions/" + stranger.ID() + "/events", 200, 200, 403},
		{"GET", "/v1/sessions/" + stranger.ID() + "/events/stream", 0, 0, 403},
		{"POST", "/v1/sessions/" + stranger.ID() + "/events", 400, 400, 403},
		{"POST", "/v1/sessions/" + stranger.ID() + "/archive", 0, 401, 401},
		{"GET", workPath, 401, 200, 401},
		{"GET", workPath + "/poll", 401, 200, 401},
		{"GET", workPath + "/stats", 200, 200, 401},
		{"GET", work, 200, 401, 401},
		{"POST", work + "/ack", 401, 200, 200},
		{"POST", otherWork + "/ack", 401, 0, 403},
		{"POST", work + "/heartbeat", 401, 200, 200},
		{"POST", otherWork + "/heartbeat", 401, 412, 403},
		{"POST", otherWork + "/stop", 0, 0, 403},
		{"POST", work + "/stop", 204, 0, 0},
	} {
		for _, k := range []struct {
			name, key string
			status    int
		}{
			{"API key", anAPIKey, c.api}, {"environment key", s.EnvironmentKey(), c.environment}, {"sessions token", token, c.token},
			{"another environment key", "sk-ant-oat01-x", 401}, {"another token", token + "x", 401}, {"nothing", "", 401},
		} {
			if k.status == 0 {
				continue
			}
			a := try(t, s, k.key, c.method, c.path, "")
			require.Equal(t, k.status, a.status, "%s %s with %s: %s", c.method, c.path, k.name, a.text)
			require.NotContains(t, a.text, strings.TrimPrefix(token, sessionsTokenPrefix))
		}
	}
}

func TestConfiguredKeys(t *testing.T) {
	s := open(t, t.TempDir(), Options{Credential: "the-api-key", EnvironmentKey: "the-environment-key"})
	require.Equal(t, "the-environment-key", s.EnvironmentKey())
	for key, status := range map[string]int{"the-api-key": 401, "the-environment-key": 200, "another": 401} {
		require.Equal(t, status, try(t, s, key, "GET", workPath+"/poll", "").status, key)
	}
	one, two := open(t, t.TempDir(), Options{}), open(t, t.TempDir(), Options{})
	require.NotEqual(t, one.EnvironmentKey(), two.EnvironmentKey(), "a new one unless configured")
}

func TestAgentEndpointsNeedTheirBeta(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	require.Equal(t, 400, ask(t, s, "GET", "/v1/sessions", "").status)
}

func TestSessionWritesAsItself(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	writable, readable := storeID(t, s, "writable"), storeID(t, s, "readable")
	x := startSession(t, s, Attachment{Store: writable}, Attachment{Store: readable, ReadOnly: true})
	_, token := claimed(t, s)
	const memory = `{"path":"/a","content":"x"}`
	try(t, s, token, "POST", "/v1/memory_stores/"+writable+"/memories", memory).ok(t)
	try(t, s, token, "GET", "/v1/memory_stores/"+readable+"/memories", "").ok(t)
	try(t, s, token, "POST", "/v1/memory_stores/"+readable+"/memories", memory).require(t, 403, "permission_error")

	versions := "/v1/memory_stores/" + writable + "/memory_versions"
	v := try(t, s, token, "GET", versions+"?session_id="+x.ID(), "").ok(t)["data"].([]any)[0].(object)
	require.Equal(t, object{"type": "session_actor", "session_id": x.ID()}, v["created_by"])

	x.archive()
	try(t, s, token, "POST", "/v1/memory_stores/"+writable+"/memories", `{"path":"/last","content":"x"}`).ok(t)
}
