package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"
)

func storeChecks() []check {
	get := func(t *testing.T, c *client, id string) *storeInfo {
		t.Helper()
		st, err := c.api.Get(t.Context(), id, anthropic.BetaMemoryStoreGetParams{})
		require.NoError(t, err)
		return st
	}
	return []check{
		{name: "create and get a store", full: true, run: func(t *testing.T, c *client) {
			st, err := c.api.New(t.Context(), anthropic.BetaMemoryStoreNewParams{
				Name: "User Preferences", Description: anthropic.String("likes"), Metadata: map[string]string{"team": "x"},
			})
			require.NoError(t, err)
			require.Regexp(t, "^memstore_", st.ID)
			require.EqualValues(t, "memory_store", st.Type)
			require.Equal(t, "User Preferences", st.Name)
			require.Equal(t, "likes", st.Description)
			require.Equal(t, map[string]string{"team": "x"}, st.Metadata)
			require.Equal(t, st.CreatedAt, st.UpdatedAt)
			require.False(t, st.JSON.ArchivedAt.Valid())
			require.JSONEq(t, st.RawJSON(), get(t, c, st.ID).RawJSON())
			c.deleteStore(t, st.ID)
		}},
		{name: "a store described by its name alone", full: true, run: func(t *testing.T, c *client) {
			st := get(t, c, c.store)
			require.True(t, st.JSON.Description.Valid())
			require.Empty(t, st.Description)
			require.Contains(t, st.RawJSON(), `"metadata":{}`)
		}},
		{name: "create refuses illegal descriptions of a store", full: true, run: func(t *testing.T, c *client) {
			pairs := make([]string, 17)
			for i := range pairs {
				pairs[i] = fmt.Sprintf("%q:\"\"", fmt.Sprint(i))
			}
			for _, body := range []string{
				``, `{}`, `{"name":""}`, `{"name":null}`, `{"name":"a\nb"}`, `{"name":"` + strings.Repeat("é", 256) + `"}`, `{"name":"a","extra":1}`,
				`{"name":"a","description":"` + strings.Repeat("é", 1025) + `"}`, `{"name":"a","metadata":{"k":1}}`, `{"name":"a","metadata":{"":"v"}}`,
				`{"name":"a","metadata":{"` + strings.Repeat("k", 65) + `":"v"}}`, `{"name":"a","metadata":{"k":"` + strings.Repeat("v", 513) + `"}}`,
				`{"name":"a","metadata":{` + strings.Join(pairs, ",") + `}}`,
			} {
				c.raw(t, http.MethodPost, "/v1/memory_stores", body).requireInvalid(t)
			}
			a := c.raw(t, http.MethodPost, "/v1/memory_stores", `{"name":"`+strings.Repeat("é", 255)+`","description":"`+strings.Repeat("é", 1024)+
				`","metadata":{`+strings.Join(pairs[:16], ",")+`}}`)
			require.Equal(t, http.StatusOK, a.status, a.text)
			c.deleteStore(t, a.body.ID)
		}},
		{name: "update a store", full: true, run: func(t *testing.T, c *client) {
			before := get(t, c, c.store)
			st, err := c.api.Update(t.Context(), c.store, anthropic.BetaMemoryStoreUpdateParams{
				Name: anthropic.String("new"), Description: anthropic.String("text"), Metadata: map[string]string{"a": "1", "b": "2"},
			})
			require.NoError(t, err)
			require.Equal(t, []string{"new", "text"}, []string{st.Name, st.Description})
			require.True(t, st.UpdatedAt.After(before.UpdatedAt))
			require.Equal(t, before.CreatedAt, st.CreatedAt)
			a := c.raw(t, http.MethodPost, "/v1/memory_stores/"+c.store, `{"description":"","metadata":{"a":null,"b":"3","none":null}}`)
			require.Equal(t, http.StatusOK, a.status, a.text)
			got := get(t, c, c.store)
			require.Equal(t, []string{"new", ""}, []string{got.Name, got.Description})
			require.Equal(t, map[string]string{"b": "3"}, got.Metadata)
			same := c.raw(t, http.MethodPost, "/v1/memory_stores/"+c.store, `{"name":"new"}`)
			require.JSONEq(t, got.RawJSON(), same.text)
			for _, body := range []string{`{"name":""}`, `{"extra":1}`, `{"metadata":{"b":3}}`, `[]`} {
				c.raw(t, http.MethodPost, "/v1/memory_stores/"+c.store, body).requireInvalid(t)
			}
			require.JSONEq(t, got.RawJSON(), get(t, c, c.store).RawJSON())
		}},
		{name: "writing memories does not change the store", full: true, run: func(t *testing.T, c *client) {
			before := get(t, c, c.store)
			life(t, c)
			require.JSONEq(t, before.RawJSON(), get(t, c, c.store).RawJSON())
		}},
		{name: "list stores newest first", full: true, run: func(t *testing.T, c *client) {
			start := get(t, c, c.store).CreatedAt
			want := []string{c.store}
			for range 4 {
				want = append([]string{c.makeStore(t)}, want...)
			}
			list := func(p anthropic.BetaMemoryStoreListParams) (out []string) {
				for _, st := range drain(t, c.api.ListAutoPaging(t.Context(), p)) {
					out = append(out, st.ID)
				}
				return out
			}
			for _, limit := range []int64{1, 2, 100} {
				require.Equal(t, want, list(anthropic.BetaMemoryStoreListParams{Limit: anthropic.Int(limit), CreatedAtGte: anthropic.Time(start)}))
			}
			require.Equal(t, want[:4], list(anthropic.BetaMemoryStoreListParams{CreatedAtGte: anthropic.Time(start.Add(time.Microsecond))}))
			second := get(t, c, want[3]).CreatedAt
			require.Equal(t, want[3:], list(anthropic.BetaMemoryStoreListParams{CreatedAtGte: anthropic.Time(start), CreatedAtLte: anthropic.Time(second)}))
			for _, query := range []string{"limit=0", "limit=101", "page=rubbish", "include_archived=perhaps", "created_at[lte]=x"} {
				c.raw(t, http.MethodGet, "/v1/memory_stores?"+query, "").requireInvalid(t)
			}
		}},
		{name: "delete a store with all it holds", full: true, run: func(t *testing.T, c *client) {
			gone, alive := life(t, c)
			got, err := c.api.Delete(t.Context(), c.store, anthropic.BetaMemoryStoreDeleteParams{})
			require.NoError(t, err)
			require.Equal(t, c.store, got.ID)
			require.EqualValues(t, "memory_store_deleted", got.Type)
			for _, path := range []string{"/v1/memory_stores/" + c.store, c.memories(), c.memories() + "/" + alive.ID, c.versions(), c.versions() + "/" + gone.MemoryVersionID} {
				require.Equal(t, http.StatusNotFound, c.raw(t, http.MethodGet, path, "").status, path)
			}
			require.Equal(t, http.StatusNotFound, c.raw(t, http.MethodDelete, "/v1/memory_stores/"+c.store, "").status)
		}},
		{name: "stores do not see each other", full: true, run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			other := newClient(c.url, c.key)
			other.store = c.makeStore(t)
			require.Empty(t, other.list(t, listParams{}))
			require.Empty(t, other.history(t, histParams{}))
			for _, path := range []string{other.memories() + "/" + m.ID, other.versions() + "/" + m.MemoryVersionID} {
				require.Equal(t, http.StatusNotFound, c.raw(t, http.MethodGet, path, "").status, path)
			}
			require.Equal(t, http.StatusNotFound, c.raw(t, http.MethodDelete, other.memories()+"/"+m.ID, "").status)
			require.Equal(t, http.StatusNotFound, c.raw(t, http.MethodPost, other.memories()+"/"+m.ID, `{"content":"y"}`).status)
			other.create(t, "/a", "y")
			require.Equal(t, "x", c.get(t, m.ID).Content)
		}},
	}
}

func (c *client) deleteStore(t *testing.T, id string) {
	t.Helper()
	_, err := c.api.Delete(t.Context(), id, anthropic.BetaMemoryStoreDeleteParams{})
	require.NoError(t, err)
}

func archiveChecks() []check {
	archive := func(t *testing.T, c *client) *storeInfo {
		t.Helper()
		st, err := c.api.Archive(t.Context(), c.store, anthropic.BetaMemoryStoreArchiveParams{})
		require.NoError(t, err)
		return st
	}
	return []check{
		{name: "archive is for ever and can be repeated", full: true, run: func(t *testing.T, c *client) {
			st := archive(t, c)
			require.True(t, st.JSON.ArchivedAt.Valid())
			require.True(t, st.UpdatedAt.After(st.CreatedAt))
			require.JSONEq(t, st.RawJSON(), archive(t, c).RawJSON())
		}},
		{name: "an archived store takes no creates or updates", full: true, run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			archive(t, c)
			c.raw(t, http.MethodPost, c.memories(), `{"path":"/b","content":"x"}`).requireInvalid(t)
			c.raw(t, http.MethodPost, c.memories()+"/"+m.ID, `{"content":"y"}`).requireInvalid(t)
			c.raw(t, http.MethodPost, "/v1/memory_stores/"+c.store, `{"name":"y"}`).requireInvalid(t)
			require.Len(t, c.history(t, histParams{}), 1)
		}},
		{name: "an archived store can be read, emptied, redacted and deleted", full: true, run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			archive(t, c)
			require.Equal(t, "x", c.get(t, m.ID).Content)
			require.Len(t, c.list(t, listParams{}), 1)
			c.delete(t, m.ID)
			require.Equal(t, http.StatusOK, c.raw(t, http.MethodPost, c.versions()+"/"+m.MemoryVersionID+"/redact", "").status)
			c.deleteStore(t, c.store)
		}},
		{name: "archived stores are listed when asked for", full: true, run: func(t *testing.T, c *client) {
			archive(t, c)
			start := anthropic.Time(archive(t, c).CreatedAt)
			for include, want := range map[bool]int{true: 1, false: 0} {
				stores := drain(t, c.api.ListAutoPaging(t.Context(), anthropic.BetaMemoryStoreListParams{CreatedAtGte: start, IncludeArchived: anthropic.Bool(include)}))
				require.Len(t, stores, want)
			}
		}},
	}
}
