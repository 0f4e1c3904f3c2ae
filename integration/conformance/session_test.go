package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/require"
)

// Short names for the SDK's.
type (
	session    = anthropic.BetaManagedAgentsSession
	work       = anthropic.BetaSelfHostedWork
	attachment = anthropic.BetaManagedAgentsMemoryStoreResourceParam
)

const (
	readWrite = anthropic.BetaManagedAgentsMemoryStoreResourceParamAccessReadWrite
	readOnly  = anthropic.BetaManagedAgentsMemoryStoreResourceParamAccessReadOnly
)

// newSession asks for a session with these stores.
func (c *client) newSession(t *testing.T, stores ...attachment) (*session, error) {
	t.Helper()
	p := anthropic.BetaSessionNewParams{
		Agent: anthropic.BetaSessionNewParamsAgentUnion{OfString: anthropic.String("agent_conformance")}, EnvironmentID: c.environment,
	}
	for _, st := range stores {
		p.Resources = append(p.Resources, anthropic.BetaSessionNewParamsResourceUnion{OfMemoryStore: &st})
	}
	return c.sessions.New(t.Context(), p)
}

// startSession starts a session with the client's store, and leaves none of its
// work in the queue.
func (c *client) startSession(t *testing.T, access anthropic.BetaManagedAgentsMemoryStoreResourceParamAccess) *session {
	t.Helper()
	s, err := c.newSession(t, attachment{MemoryStoreID: c.store, Access: access})
	require.NoError(t, err)
	t.Cleanup(func() { c.stopAll(t) })
	return s
}

// worker is what authorises a call of a worker.
func (c *client) worker() option.RequestOption { return option.WithAPIKey(c.environmentKey) }

// poll asks for work once; nil is none.
func (c *client) poll(t *testing.T) *work {
	t.Helper()
	item, err := c.work.Poll(t.Context(), c.environment, anthropic.BetaEnvironmentWorkPollParams{}, c.worker())
	require.NoError(t, err)
	return item
}

// claim polls an item and acknowledges it, and returns it with a client that
// has its token.
func (c *client) claim(t *testing.T) (*work, *client) {
	t.Helper()
	item := c.poll(t)
	require.NotNil(t, item, "no work")
	_, err := c.work.Ack(t.Context(), item.ID, anthropic.BetaEnvironmentWorkAckParams{EnvironmentID: c.environment}, c.worker())
	require.NoError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(item.Secret, "="))
	require.NoError(t, err)
	var secret struct {
		Token string `json:"sessions_token"`
	}
	require.NoError(t, json.Unmarshal(raw, &secret))
	inside := newClient(c.url, secret.Token)
	inside.store, inside.environment = c.store, c.environment
	return item, inside
}

// stopAll stops all work that waits in the queue or is under way; also when the
// test has ended.
func (c *client) stopAll(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, item := range drain(t, c.work.ListAutoPaging(ctx, c.environment, anthropic.BetaEnvironmentWorkListParams{}, c.worker())) {
		if item.State != anthropic.BetaSelfHostedWorkStateStopped {
			c.stop(t, item.ID, `{"force":true}`)
		}
	}
}

// stop is not the SDK's: that cannot read the answer to it.
func (c *client) stop(t *testing.T, id, body string) rawAnswer {
	t.Helper()
	return c.raw(t, http.MethodPost, "/v1/environments/"+c.environment+"/work/"+id+"/stop", body,
		"anthropic-beta", "managed-agents-2026-04-01", "Authorization", "Bearer "+c.environmentKey)
}

func sessionChecks() []check {
	return []check{
		{name: "a session has its stores as they were attached", queue: true, run: func(t *testing.T, c *client) {
			s, err := c.newSession(t, attachment{MemoryStoreID: c.store, Access: readOnly, Instructions: anthropic.String("read it")})
			require.NoError(t, err)
			c.stopAll(t)
			again, err := c.sessions.Get(t.Context(), s.ID, anthropic.BetaSessionGetParams{}, c.worker())
			require.NoError(t, err)
			require.Len(t, again.Resources, 1)
			r := again.Resources[0]
			require.Equal(t, "memory_store", r.Type)
			require.Equal(t, c.store, r.MemoryStoreID)
			require.EqualValues(t, "read_only", r.Access)
			require.Equal(t, "conformance", r.Name)
			require.Equal(t, "read it", r.Instructions)
			require.Equal(t, "/mnt/memory/conformance", r.MountPath)
			require.False(t, r.JSON.ID.Valid(), "an attached store has no id of its own")
		}},
		{name: "a ninth store is refused", queue: true, full: true, run: func(t *testing.T, c *client) {
			stores := []attachment{{MemoryStoreID: c.store}}
			for range 8 {
				stores = append(stores, attachment{MemoryStoreID: c.makeStore(t)})
			}
			_, err := c.newSession(t, stores...)
			requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			_, err = c.newSession(t, stores[:8]...)
			require.NoError(t, err)
			c.stopAll(t)
		}},
		{name: "an archived store cannot be attached", queue: true, full: true, run: func(t *testing.T, c *client) {
			_, err := c.api.Archive(t.Context(), c.store, anthropic.BetaMemoryStoreArchiveParams{})
			require.NoError(t, err)
			_, err = c.newSession(t, attachment{MemoryStoreID: c.store})
			requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
		}},
		{name: "a session's token opens its stores, the environment key none", queue: true, full: true, run: func(t *testing.T, c *client) {
			c.startSession(t, readWrite)
			_, inside := c.claim(t)
			inside.create(t, "/a", "x")
			require.Equal(t, []string{"/a"}, paths(inside.list(t, listParams{})))
			_, err := c.api.Memories.List(t.Context(), c.store, listParams{}, c.worker())
			requireFailure(t, err, http.StatusUnauthorized, "authentication_error")
			_, err = inside.api.Memories.List(t.Context(), c.makeStore(t), listParams{})
			requireFailure(t, err, http.StatusForbidden, "permission_error")
		}},
		{name: "an archived session reports terminated", queue: true, run: func(t *testing.T, c *client) {
			s := c.startSession(t, readWrite)
			s, err := c.sessions.Archive(t.Context(), s.ID, anthropic.BetaSessionArchiveParams{})
			require.NoError(t, err)
			require.Equal(t, anthropic.BetaManagedAgentsSessionStatusTerminated, s.Status)
			require.False(t, s.ArchivedAt.IsZero())
		}},
	}
}
