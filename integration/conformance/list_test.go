package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"
)

func listChecks() []check {
	return []check{
		{name: "list an empty store", run: func(t *testing.T, c *client) {
			a := c.raw(t, http.MethodGet, c.memories(), "")
			require.Equal(t, http.StatusOK, a.status)
			require.JSONEq(t, `{"data":[],"next_page":null}`, a.text)
		}},
		{name: "list in byte order of the paths", run: func(t *testing.T, c *client) {
			all := []string{"/b", "/a/z", "/a-x", "/a.x", "/a0", "/B", "/é", "/😀", "/z", "/a/b/c"}
			c.createAll(t, all...)
			slices.Sort(all)
			require.Equal(t, all, paths(c.list(t, listParams{})))
		}},
		{name: "list in the basic view unless asked otherwise", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "text")
			got := c.list(t, listParams{})[0]
			require.Equal(t, "memory", got.Type)
			require.False(t, got.JSON.Content.Valid())
			require.Equal(t, m.ID, got.ID)
			require.Equal(t, m.ContentSha256, got.ContentSha256)
			require.Equal(t, m.MemoryVersionID, got.MemoryVersionID)
			require.EqualValues(t, 4, got.ContentSizeBytes)
			require.Equal(t, "text", c.list(t, listParams{View: full})[0].Content)
		}},
		{name: "list below a prefix of whole names", run: func(t *testing.T, c *client) {
			c.createAll(t, "/notes/todo.md", "/notes/sub/deep", "/notes-archive/x", "/notes0", "/other")
			require.Equal(t, []string{"/notes/sub/deep", "/notes/todo.md"}, paths(c.list(t, listParams{PathPrefix: anthropic.String("/notes/")})))
			require.Equal(t, []string{"/notes/sub/deep"}, paths(c.list(t, listParams{PathPrefix: anthropic.String("/notes/sub/")})))
			require.Empty(t, c.list(t, listParams{PathPrefix: anthropic.String("/notes/todo.md/")}))
			require.Empty(t, c.list(t, listParams{PathPrefix: anthropic.String("/none/")}))
			require.Len(t, c.list(t, listParams{PathPrefix: anthropic.String("/")}), 5)
		}},
		{name: "list takes a prefix literally", run: func(t *testing.T, c *client) {
			c.createAll(t, "/a_b/x", "/aXb/x", "/a%/x", "/ab/x", "/a*/x", "/a+b c/x")
			for _, prefix := range []string{"/a_b/", "/a%/", "/a*/", "/a+b c/"} {
				require.Equal(t, []string{prefix + "x"}, paths(c.list(t, listParams{PathPrefix: anthropic.String(prefix)})))
			}
		}},
		{name: "list refuses what it cannot answer", run: func(t *testing.T, c *client) {
			for _, query := range []string{"path_prefix=/notes", "depth=2", "depth=-1", "depth=x", "view=whole", "limit=0", "limit=-1", "limit=x", "page=rubbish"} {
				c.raw(t, http.MethodGet, c.memories()+"?"+query, "").requireInvalid(t)
			}
		}},
		{name: "list refuses a limit over 100", full: true, run: func(t *testing.T, c *client) {
			c.raw(t, http.MethodGet, c.memories()+"?limit=101", "").requireInvalid(t)
		}},
		{name: "list ignores parameters of the past", run: func(t *testing.T, c *client) {
			require.Equal(t, http.StatusOK, c.raw(t, http.MethodGet, c.memories()+"?beta=true&order_by=path&order=desc", "").status)
		}},
		{name: "list of an unknown store", run: func(t *testing.T, c *client) {
			_, err := c.api.Memories.List(t.Context(), "memstore_none", listParams{})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
		}},
	}
}

func depthChecks() []check {
	children := func(prefix string) listParams {
		return listParams{PathPrefix: anthropic.String(prefix), Depth: anthropic.Int(1)}
	}
	return []check{
		{name: "depth 1 groups what is deeper, in path order", run: func(t *testing.T, c *client) {
			c.createAll(t, "/b", "/dir/x", "/dir/y/z", "/dir-ectory", "/dir0", "/a/1", "/a/2")
			require.Equal(t, []string{"/a/", "/b", "/dir-ectory", "/dir/", "/dir0"}, paths(c.list(t, listParams{Depth: anthropic.Int(1)})))
			require.Equal(t, []string{"/dir/x", "/dir/y/"}, paths(c.list(t, children("/dir/"))))
			require.Equal(t, []string{"/dir/y/z"}, paths(c.list(t, children("/dir/y/"))))
		}},
		{name: "depth 1 marks prefixes", run: func(t *testing.T, c *client) {
			c.createAll(t, "/dir/x", "/file")
			items := c.list(t, listParams{Depth: anthropic.Int(1)})
			require.Equal(t, []string{"memory_prefix", "memory"}, []string{items[0].Type, items[1].Type})
			require.JSONEq(t, `{"type":"memory_prefix","path":"/dir/"}`, items[0].RawJSON())
		}},
		{name: "depth 0 is everything below", run: func(t *testing.T, c *client) {
			c.createAll(t, "/a/b/c", "/d")
			require.Equal(t, []string{"/a/b/c", "/d"}, paths(c.list(t, listParams{Depth: anthropic.Int(0)})))
		}},
		{name: "depth 1 pages count prefixes and repeat none", run: func(t *testing.T, c *client) {
			var want []string
			for i := range 6 {
				c.createAll(t, fmt.Sprintf("/d%d/x", i), fmt.Sprintf("/d%d/y", i), fmt.Sprintf("/f%d", i))
				want = append(want, fmt.Sprintf("/d%d/", i), fmt.Sprintf("/f%d", i))
			}
			slices.Sort(want)
			for limit := range int64(5) {
				p := listParams{Depth: anthropic.Int(1), Limit: anthropic.Int(limit + 1)}
				first, err := c.api.Memories.List(t.Context(), c.store, p)
				require.NoError(t, err)
				require.Len(t, first.Data, int(limit+1))
				require.Equal(t, want, paths(c.list(t, p)))
			}
		}},
	}
}

func pageChecks() []check {
	fill := func(t *testing.T, c *client, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("/m%03d", i))
		}
		c.createAll(t, all...)
		return all
	}
	return []check{
		{name: "pages hold 20 unless asked otherwise", run: func(t *testing.T, c *client) {
			all := fill(t, c, 25)
			first, err := c.api.Memories.List(t.Context(), c.store, listParams{})
			require.NoError(t, err)
			require.Equal(t, all[:20], paths(first.Data))
			second, err := c.api.Memories.List(t.Context(), c.store, listParams{Page: anthropic.String(first.NextPage)})
			require.NoError(t, err)
			require.Equal(t, all[20:], paths(second.Data))
			require.Empty(t, second.NextPage)
		}},
		{name: "full pages hold at most 20, basic ones 100", run: func(t *testing.T, c *client) {
			all := fill(t, c, 101)
			p, err := c.api.Memories.List(t.Context(), c.store, listParams{View: full, Limit: anthropic.Int(100)})
			require.NoError(t, err)
			require.Len(t, p.Data, 20)
			require.Equal(t, all, paths(c.list(t, listParams{View: full, Limit: anthropic.Int(100)})))
			p, err = c.api.Memories.List(t.Context(), c.store, listParams{Limit: anthropic.Int(100)})
			require.NoError(t, err)
			require.Len(t, p.Data, 100)
			require.NotEmpty(t, p.NextPage)
		}},
		{name: "the last page has no next one", run: func(t *testing.T, c *client) {
			fill(t, c, 4)
			p, err := c.api.Memories.List(t.Context(), c.store, listParams{Limit: anthropic.Int(4)})
			require.NoError(t, err)
			require.Len(t, p.Data, 4)
			require.Empty(t, p.NextPage)
		}},
		{name: "a cursor is bound to its filters", full: true, run: func(t *testing.T, c *client) {
			c.createAll(t, "/a/1", "/a/2", "/b/1", "/b/2")
			p, err := c.api.Memories.List(t.Context(), c.store, listParams{Limit: anthropic.Int(1), PathPrefix: anthropic.String("/a/")})
			require.NoError(t, err)
			for _, other := range []listParams{{}, {PathPrefix: anthropic.String("/b/")}, {PathPrefix: anthropic.String("/a/"), Depth: anthropic.Int(1)}} {
				other.Page = anthropic.String(p.NextPage)
				_, err := c.api.Memories.List(t.Context(), c.store, other)
				requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			}
			same, err := c.api.Memories.List(t.Context(), c.store, listParams{PathPrefix: anthropic.String("/a/"), Page: anthropic.String(p.NextPage)})
			require.NoError(t, err)
			require.Equal(t, []string{"/a/2"}, paths(same.Data))
			c.raw(t, http.MethodGet, c.versions()+"?page="+p.NextPage, "").requireInvalid(t)
		}},
		{name: "pages stay whole while memories come and go", full: true, run: func(t *testing.T, c *client) {
			all := fill(t, c, 30)
			var seen []string
			pager := c.api.Memories.ListAutoPaging(t.Context(), c.store, listParams{Limit: anthropic.Int(3)})
			for pager.Next() {
				path := pager.Current().Path
				seen = append(seen, path)
				if slices.Contains(all, path) {
					c.createAll(t, path+"-after", "/before"+path)
				}
				if len(seen)%3 == 0 {
					c.delete(t, pager.Current().ID)
				}
			}
			require.NoError(t, pager.Err())
			require.Subset(t, seen, all)
			require.True(t, slices.IsSorted(seen))
			require.Len(t, slices.Compact(slices.Clone(seen)), len(seen), "a memory came twice")
		}},
	}
}
