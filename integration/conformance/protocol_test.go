package conformance

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func protocolChecks() []check {
	const memoryBeta, agentsBeta = "agent-memory-2026-07-22", "managed-agents-2026-04-01"
	return []check{
		{name: "either beta is accepted, both are not", run: func(t *testing.T, c *client) {
			for _, beta := range []string{memoryBeta, agentsBeta} {
				require.Equal(t, http.StatusOK, c.raw(t, http.MethodGet, c.memories(), "", "anthropic-beta", beta).status)
			}
			for _, betas := range []string{memoryBeta + "," + agentsBeta, agentsBeta + ", " + memoryBeta} {
				c.raw(t, http.MethodGet, c.memories(), "", "anthropic-beta", betas).requireInvalid(t)
			}
		}},
		{name: "a beta is required, others do no harm", full: true, run: func(t *testing.T, c *client) {
			c.raw(t, http.MethodGet, c.memories(), "", "anthropic-beta", "").requireInvalid(t)
			c.raw(t, http.MethodGet, c.memories(), "", "anthropic-beta", "something-else").requireInvalid(t)
			require.Equal(t, http.StatusOK, c.raw(t, http.MethodGet, c.memories(), "", "anthropic-beta", "something-else,"+memoryBeta).status)
		}},
		{name: "any version of the API, or none", run: func(t *testing.T, c *client) {
			for _, version := range []string{"", "2023-06-01", "2026-10-21"} {
				require.Equal(t, http.StatusOK, c.raw(t, http.MethodGet, c.memories(), "", "anthropic-version", version).status)
			}
		}},
		{name: "the credential goes in either header", run: func(t *testing.T, c *client) {
			require.Equal(t, http.StatusOK, c.raw(t, http.MethodGet, c.memories(), "", "Authorization", "", "x-api-key", c.key).status)
			require.Equal(t, http.StatusOK, c.raw(t, http.MethodGet, c.memories(), "").status)
		}},
		{name: "a credential is required, and not an environment key", full: true, run: func(t *testing.T, c *client) {
			for _, header := range []string{"", "Bearer sk-ant-oat01-key", "Bearer ", "Basic eDp5"} {
				a := c.raw(t, http.MethodGet, c.memories(), "", "Authorization", header)
				require.Equal(t, http.StatusUnauthorized, a.status)
				require.Equal(t, "authentication_error", a.body.Error.Type)
			}
		}},
		{name: "failures have the API's envelope and say which request it was", full: true, run: func(t *testing.T, c *client) {
			for _, path := range []string{c.memories() + "/mem_none", c.memories() + "?depth=7", "/v1/none"} {
				a := c.raw(t, http.MethodGet, path, "")
				require.Equal(t, "error", a.body.Type)
				require.NotEmpty(t, a.body.Error.Message)
				require.Regexp(t, "^req_", a.body.RequestID)
				require.Equal(t, a.body.RequestID, a.header.Get("request-id"))
				require.Equal(t, "application/json", a.header.Get("Content-Type"))
				require.NotContains(t, a.text, "conflicting")
			}
			require.Regexp(t, "^req_", c.raw(t, http.MethodGet, c.memories(), "").header.Get("request-id"))
		}},
		{name: "unknown endpoints are not found", run: func(t *testing.T, c *client) {
			for _, path := range []string{"/v1/none", "/v2/memory_stores", c.memories() + "/mem_none/more", "/"} {
				a := c.raw(t, http.MethodGet, path, "")
				require.Equal(t, http.StatusNotFound, a.status, path)
				require.Equal(t, "not_found_error", a.body.Error.Type)
			}
		}},
	}
}
