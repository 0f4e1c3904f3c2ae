package conformance

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"
)

type heartbeat = anthropic.BetaSelfHostedWorkHeartbeatResponse

func (c *client) heartbeat(t *testing.T, id, expected string) (*heartbeat, error) {
	t.Helper()
	return c.work.Heartbeat(t.Context(), id, anthropic.BetaEnvironmentWorkHeartbeatParams{
		EnvironmentID: c.environment, ExpectedLastHeartbeat: anthropic.String(expected),
	}, c.worker())
}

func workChecks() []check {
	return []check{
		{name: "an item is offered once, with a secret only then", queue: true, run: func(t *testing.T, c *client) {
			s := c.startSession(t, readWrite)
			item := c.poll(t)
			require.NotNil(t, item)
			require.Equal(t, s.ID, item.Data.ID)
			require.EqualValues(t, "session", item.Data.Type)
			require.NotEmpty(t, item.Secret)
			require.Nil(t, c.poll(t))
			acked, err := c.work.Ack(t.Context(), item.ID, anthropic.BetaEnvironmentWorkAckParams{EnvironmentID: c.environment}, c.worker())
			require.NoError(t, err)
			require.Equal(t, anthropic.BetaSelfHostedWorkStateStarting, acked.State)
			require.Empty(t, acked.Secret)
			got, err := c.work.Get(t.Context(), item.ID, anthropic.BetaEnvironmentWorkGetParams{EnvironmentID: c.environment})
			require.NoError(t, err)
			require.Equal(t, acked.AcknowledgedAt, got.AcknowledgedAt)
			require.Empty(t, got.Secret)
		}},
		{name: "heartbeats follow one another", queue: true, run: func(t *testing.T, c *client) {
			c.startSession(t, readWrite)
			item, inside := c.claim(t)
			first, err := c.heartbeat(t, item.ID, "NO_HEARTBEAT")
			require.NoError(t, err)
			require.True(t, first.LeaseExtended)
			require.EqualValues(t, "active", first.State)
			require.Positive(t, first.TTLSeconds)
			_, err = c.heartbeat(t, item.ID, "NO_HEARTBEAT")
			requireFailure(t, err, http.StatusPreconditionFailed, "invalid_request_error")
			inside.environmentKey = inside.key
			second, err := inside.heartbeat(t, item.ID, first.LastHeartbeat)
			require.NoError(t, err, "the session's token is as good")

			_, err = c.heartbeat(t, item.ID, first.LastHeartbeat)
			requireFailure(t, err, http.StatusPreconditionFailed, "invalid_request_error")
			var answer *anthropic.Error
			require.ErrorAs(t, err, &answer)
			require.Equal(t, anthropic.ErrorCodeBetaHeartbeatPreconditionFailed, answer.ErrorCode())
			var body struct {
				Error struct {
					Details struct {
						Current heartbeat `json:"current_state"`
					}
				}
			}
			require.NoError(t, json.Unmarshal([]byte(answer.RawJSON()), &body))
			require.Equal(t, second.LastHeartbeat, body.Error.Details.Current.LastHeartbeat)
		}},
		{name: "a worker learns that it is to stop", queue: true, run: func(t *testing.T, c *client) {
			c.startSession(t, readWrite)
			item, _ := c.claim(t)
			_, err := c.heartbeat(t, item.ID, "NO_HEARTBEAT")
			require.NoError(t, err)
			require.Equal(t, http.StatusNoContent, c.stop(t, item.ID, "{}").status)
			told, err := c.heartbeat(t, item.ID, "whatever")
			require.NoError(t, err)
			require.EqualValues(t, "stopping", told.State)
			forced := c.stop(t, item.ID, `{"force":true}`)
			require.Equal(t, http.StatusNoContent, forced.status)
			require.Empty(t, forced.header.Get("Content-Type"))
			told, err = c.heartbeat(t, item.ID, "whatever")
			require.NoError(t, err)
			require.EqualValues(t, "stopped", told.State)
			require.Equal(t, http.StatusConflict, c.stop(t, item.ID, `{"force":true}`).status)
		}},
		{name: "the queue is for workers, its items for API keys", queue: true, full: true, run: func(t *testing.T, c *client) {
			_, err := c.work.Poll(t.Context(), c.environment, anthropic.BetaEnvironmentWorkPollParams{})
			requireFailure(t, err, http.StatusUnauthorized, "authentication_error")
			c.startSession(t, readWrite)
			item, _ := c.claim(t)
			_, err = c.work.Get(t.Context(), item.ID, anthropic.BetaEnvironmentWorkGetParams{EnvironmentID: c.environment}, c.worker())
			requireFailure(t, err, http.StatusUnauthorized, "authentication_error")
			stats, err := c.work.Stats(t.Context(), c.environment, anthropic.BetaEnvironmentWorkStatsParams{})
			require.NoError(t, err)
			require.Zero(t, stats.Depth)
		}},
	}
}
