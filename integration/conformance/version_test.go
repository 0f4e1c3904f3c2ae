package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"
)

const (
	created  = anthropic.BetaManagedAgentsMemoryVersionOperationCreated
	modified = anthropic.BetaManagedAgentsMemoryVersionOperationModified
	deleted  = anthropic.BetaManagedAgentsMemoryVersionOperationDeleted
)

// life creates, edits and deletes one memory, and creates another.
func life(t *testing.T, c *client) (gone, alive *memory) {
	t.Helper()
	gone = c.create(t, "/gone", "one")
	_, err := c.update(t, gone.ID, editParams{Content: anthropic.String("two")})
	require.NoError(t, err)
	alive = c.create(t, "/alive", "three")
	c.delete(t, gone.ID)
	return gone, alive
}

func operations(history []version) (out []anthropic.BetaManagedAgentsMemoryVersionOperation) {
	for _, v := range history {
		out = append(out, v.Operation)
	}
	return out
}

func versionChecks() []check {
	return []check{
		{name: "every change writes one version, newest first", run: func(t *testing.T, c *client) {
			gone, alive := life(t, c)
			history := c.history(t, histParams{})
			require.Equal(t, []anthropic.BetaManagedAgentsMemoryVersionOperation{deleted, created, modified, created}, operations(history))
			for i, v := range history {
				require.EqualValues(t, "memory_version", v.Type)
				require.Regexp(t, "^memver_", v.ID)
				require.Equal(t, c.store, v.MemoryStoreID)
				require.Equal(t, map[bool]string{true: alive.ID, false: gone.ID}[i == 1], v.MemoryID)
				require.Equal(t, map[bool]string{true: "/alive", false: "/gone"}[i == 1], v.Path)
				require.False(t, v.JSON.Content.Valid(), "basic view")
				require.False(t, v.JSON.RedactedAt.Valid())
				require.Contains(t, v.CreatedBy.Type, "_actor")
				require.True(t, i == 0 || !v.CreatedAt.After(history[i-1].CreatedAt))
			}
			require.Equal(t, alive.MemoryVersionID, history[1].ID)
			require.Equal(t, gone.MemoryVersionID, history[3].ID)
		}},
		{name: "a deleted version has a path and no content", run: func(t *testing.T, c *client) {
			life(t, c)
			v := c.history(t, histParams{View: full})[0]
			require.Equal(t, "/gone", v.Path)
			require.False(t, v.JSON.Content.Valid())
			require.False(t, v.JSON.ContentSha256.Valid())
			require.False(t, v.JSON.ContentSizeBytes.Valid())
		}},
		{name: "full versions hold their content", run: func(t *testing.T, c *client) {
			life(t, c)
			history := c.history(t, histParams{View: full})
			for i, content := range map[int]string{1: "three", 2: "two", 3: "one"} {
				require.Equal(t, content, history[i].Content)
				require.Equal(t, sha(content), history[i].ContentSha256)
				require.EqualValues(t, len(content), history[i].ContentSizeBytes)
			}
		}},
		{name: "get a version in the full view unless asked otherwise", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "text")
			v, err := c.api.MemoryVersions.Get(t.Context(), m.MemoryVersionID, verParams{MemoryStoreID: c.store})
			require.NoError(t, err)
			require.Equal(t, "text", v.Content)
			require.Equal(t, m.ID, v.MemoryID)
			v, err = c.api.MemoryVersions.Get(t.Context(), m.MemoryVersionID, verParams{MemoryStoreID: c.store, View: basic})
			require.NoError(t, err)
			require.False(t, v.JSON.Content.Valid())
			require.Equal(t, sha("text"), v.ContentSha256)
		}},
		{name: "get a version that does not exist", run: func(t *testing.T, c *client) {
			_, err := c.api.MemoryVersions.Get(t.Context(), "memver_none", verParams{MemoryStoreID: c.store})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
			_, err = c.api.MemoryVersions.List(t.Context(), "memstore_none", histParams{})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
		}},
		{name: "versions page newest first without gaps", run: func(t *testing.T, c *client) {
			var want []string
			for i := range 23 {
				want = append(want, c.create(t, fmt.Sprintf("/%d", i), "x").MemoryVersionID)
			}
			slices.Reverse(want)
			for _, limit := range []int64{1, 10, 23, 100} {
				require.Equal(t, want, ids(c.history(t, histParams{Limit: anthropic.Int(limit)})))
			}
			p, err := c.api.MemoryVersions.List(t.Context(), c.store, histParams{})
			require.NoError(t, err)
			require.Len(t, p.Data, 20)
			p, err = c.api.MemoryVersions.List(t.Context(), c.store, histParams{View: full, Limit: anthropic.Int(100)})
			require.NoError(t, err)
			require.Len(t, p.Data, 20)
		}},
		{name: "version pages stay whole while versions are written", full: true, run: func(t *testing.T, c *client) {
			var want []string
			for i := range 10 {
				want = append(want, c.create(t, fmt.Sprintf("/%d", i), "x").MemoryVersionID)
			}
			slices.Reverse(want)
			var seen []string
			pager := c.api.MemoryVersions.ListAutoPaging(t.Context(), c.store, histParams{Limit: anthropic.Int(2)})
			for pager.Next() {
				seen = append(seen, pager.Current().ID)
				c.create(t, fmt.Sprintf("/later%d", len(seen)), "x")
			}
			require.NoError(t, pager.Err())
			require.Equal(t, want, seen)
		}},
		{name: "versions refuse what they cannot answer", run: func(t *testing.T, c *client) {
			for _, query := range []string{"view=whole", "limit=0", "limit=x", "page=rubbish", "created_at[gte]=yesterday"} {
				// A server may only notice while it compares.
				c.create(t, "/"+query, "x")
				c.raw(t, http.MethodGet, c.versions()+"?"+query, "").requireInvalid(t)
			}
		}},
	}
}

func ids(history []version) (out []string) {
	for _, v := range history {
		out = append(out, v.ID)
	}
	return out
}

func filterChecks() []check {
	return []check{
		{name: "versions of one memory, also when it is gone", run: func(t *testing.T, c *client) {
			gone, alive := life(t, c)
			require.Equal(t, []anthropic.BetaManagedAgentsMemoryVersionOperation{deleted, modified, created}, operations(c.history(t, histParams{MemoryID: anthropic.String(gone.ID)})))
			require.Equal(t, []string{alive.MemoryVersionID}, ids(c.history(t, histParams{MemoryID: anthropic.String(alive.ID)})))
			require.Empty(t, c.history(t, histParams{MemoryID: anthropic.String("mem_none")}))
		}},
		{name: "versions of one operation", run: func(t *testing.T, c *client) {
			life(t, c)
			for op, n := range map[anthropic.BetaManagedAgentsMemoryVersionOperation]int{created: 2, modified: 1, deleted: 1} {
				history := c.history(t, histParams{Operation: op})
				require.Len(t, history, n)
				require.Equal(t, op, history[0].Operation)
			}
		}},
		{name: "versions between two times, both inclusive", run: func(t *testing.T, c *client) {
			life(t, c)
			all := c.history(t, histParams{})
			require.Equal(t, ids(all[:3]), ids(c.history(t, histParams{CreatedAtGte: anthropic.Time(all[2].CreatedAt)})))
			require.Equal(t, ids(all[2:]), ids(c.history(t, histParams{CreatedAtLte: anthropic.Time(all[2].CreatedAt)})))
			require.Equal(t, ids(all[1:3]), ids(c.history(t, histParams{CreatedAtGte: anthropic.Time(all[2].CreatedAt), CreatedAtLte: anthropic.Time(all[1].CreatedAt)})))
			require.Empty(t, c.history(t, histParams{CreatedAtGte: anthropic.Time(all[0].CreatedAt.Add(time.Microsecond))}))
		}},
		{name: "no two versions of a store have one time", full: true, run: func(t *testing.T, c *client) {
			for i := range 20 {
				c.create(t, fmt.Sprintf("/%d", i), "x")
			}
			history := c.history(t, histParams{})
			for i := range history[1:] {
				require.True(t, history[i].CreatedAt.After(history[i+1].CreatedAt))
			}
		}},
		{name: "a time between two microseconds is not rounded over a version", full: true, run: func(t *testing.T, c *client) {
			life(t, c)
			all := c.history(t, histParams{})
			at := all[2].CreatedAt
			ask := func(bound string, t0 time.Time) string {
				return c.raw(t, http.MethodGet, c.versions()+"?created_at["+bound+"]="+t0.Format(time.RFC3339Nano), "").text
			}
			require.NotContains(t, ask("gte", at.Add(time.Nanosecond)), all[2].ID)
			require.Contains(t, ask("gte", at.Add(-time.Nanosecond)), all[2].ID)
			require.NotContains(t, ask("lte", at.Add(-time.Nanosecond)), all[2].ID)
			require.Contains(t, ask("lte", at.Add(time.Nanosecond)), all[2].ID)
		}},
		{name: "versions by actor", full: true, queue: true, run: func(t *testing.T, c *client) {
			api := c.create(t, "/api", "x")
			session := c.startSession(t, readWrite)
			item, inside := c.claim(t)
			require.Equal(t, session.ID, item.Data.ID)
			m := inside.create(t, "/session", "x")
			all := c.history(t, histParams{})
			require.Equal(t, "session_actor", all[0].CreatedBy.Type)
			require.Equal(t, session.ID, all[0].CreatedBy.SessionID)
			require.Equal(t, "api_actor", all[1].CreatedBy.Type)
			require.Regexp(t, "^apikey_", all[1].CreatedBy.APIKeyID)
			require.Equal(t, []string{m.MemoryVersionID}, ids(c.history(t, histParams{SessionID: anthropic.String(all[0].CreatedBy.SessionID)})))
			require.Equal(t, []string{api.MemoryVersionID}, ids(c.history(t, histParams{APIKeyID: anthropic.String(all[1].CreatedBy.APIKeyID)})))
			require.Empty(t, c.history(t, histParams{ServiceAccountID: anthropic.String("svac_none")}))
			require.Empty(t, c.history(t, histParams{SessionID: anthropic.String(all[0].CreatedBy.SessionID), APIKeyID: anthropic.String(all[1].CreatedBy.APIKeyID)}))
		}},
		{name: "versions refuse an unknown operation", full: true, run: func(t *testing.T, c *client) {
			c.raw(t, http.MethodGet, c.versions()+"?operation=renamed", "").requireInvalid(t)
		}},
	}
}

func redactChecks() []check {
	redact := func(t *testing.T, c *client, id string) (*version, error) {
		return c.api.MemoryVersions.Redact(t.Context(), id, anthropic.BetaMemoryStoreMemoryVersionRedactParams{MemoryStoreID: c.store})
	}
	return []check{
		{name: "redact removes text, hash, size and path, and keeps the rest", full: true, run: func(t *testing.T, c *client) {
			gone, _ := life(t, c)
			before := c.history(t, histParams{MemoryID: anthropic.String(gone.ID)})
			for _, old := range before {
				v, err := redact(t, c, old.ID)
				require.NoError(t, err)
				got, err := c.api.MemoryVersions.Get(t.Context(), old.ID, verParams{MemoryStoreID: c.store})
				require.NoError(t, err)
				require.JSONEq(t, v.RawJSON(), got.RawJSON())
				require.False(t, got.JSON.Path.Valid() || got.JSON.Content.Valid() || got.JSON.ContentSha256.Valid() || got.JSON.ContentSizeBytes.Valid())
				require.True(t, got.JSON.RedactedAt.Valid())
				require.Equal(t, "api_actor", got.RedactedBy.Type)
				require.Equal(t, old.CreatedAt, got.CreatedAt)
				require.Equal(t, old.CreatedBy.APIKeyID, got.CreatedBy.APIKeyID)
				require.Equal(t, old.Operation, got.Operation)
			}
			require.Equal(t, ids(before), ids(c.history(t, histParams{MemoryID: anthropic.String(gone.ID)})))
		}},
		{name: "redact refuses the current version", full: true, run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "one")
			_, err := redact(t, c, m.MemoryVersionID)
			requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			require.Equal(t, "one", c.get(t, m.ID).Content)
			_, err = c.update(t, m.ID, editParams{Content: anthropic.String("two")})
			require.NoError(t, err)
			_, err = redact(t, c, m.MemoryVersionID)
			require.NoError(t, err)
			require.Equal(t, "two", c.get(t, m.ID).Content)
		}},
		{name: "redact twice changes nothing", full: true, run: func(t *testing.T, c *client) {
			gone, _ := life(t, c)
			first, err := redact(t, c, gone.MemoryVersionID)
			require.NoError(t, err)
			a := c.raw(t, http.MethodPost, c.versions()+"/"+gone.MemoryVersionID+"/redact", "{}")
			require.Equal(t, http.StatusOK, a.status, a.text)
			require.JSONEq(t, first.RawJSON(), a.text)
		}},
		{name: "redact what does not exist", full: true, run: func(t *testing.T, c *client) {
			_, err := redact(t, c, "memver_none")
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
		}},
	}
}
