package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

func createChecks() []check {
	return []check{
		{name: "create answers with the memory without its content", run: func(t *testing.T, c *client) {
			m := c.create(t, "/notes/todo.md", "buy milk\n")
			require.Equal(t, "/notes/todo.md", m.Path)
			require.Equal(t, c.store, m.MemoryStoreID)
			require.EqualValues(t, "memory", m.Type)
			require.Regexp(t, "^mem_", m.ID)
			require.Regexp(t, "^memver_", m.MemoryVersionID)
			require.Equal(t, sha("buy milk\n"), m.ContentSha256)
			require.EqualValues(t, 9, m.ContentSizeBytes)
			require.Contains(t, m.RawJSON(), "\"content\":")
			require.False(t, m.JSON.Content.Valid(), "content is not null")
			require.False(t, m.CreatedAt.IsZero())
			require.False(t, m.UpdatedAt.Before(m.CreatedAt))
		}},
		{name: "create answers with the content in the full view", run: func(t *testing.T, c *client) {
			m, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: "/a", Content: anthropic.String("text"), View: full})
			require.NoError(t, err)
			require.Equal(t, "text", m.Content)
		}},
		{name: "create takes legal contents unaltered", run: func(t *testing.T, c *client) {
			for name, content := range legalContents() {
				m := c.create(t, "/"+name, content)
				require.Equal(t, sha(content), m.ContentSha256, name)
				require.EqualValues(t, len(content), m.ContentSizeBytes, name)
				require.Equal(t, content, c.get(t, m.ID).Content, name)
			}
		}},
		{name: "create refuses a content over the limit", run: func(t *testing.T, c *client) {
			for _, content := range []string{strings.Repeat("x", store.MaxContent+1), strings.Repeat("é", store.MaxContent/2) + "x"} {
				_, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: "/big", Content: anthropic.String(content)})
				requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			}
			require.Empty(t, c.list(t, listParams{}))
		}},
		{name: "create refuses what is not Unicode text", run: func(t *testing.T, c *client) {
			c.raw(t, http.MethodPost, c.memories(), `{"path":"/a","content":"\ud800"}`).requireInvalid(t)
			c.raw(t, http.MethodPost, c.memories(), "{\"path\":\"/a\",\"content\":\"\xff\"}").requireInvalid(t)
		}},
		{name: "create takes legal paths", run: func(t *testing.T, c *client) {
			var want []string
			for _, path := range legalPaths() {
				want = append(want, c.create(t, path, path).Path)
			}
			require.ElementsMatch(t, legalPaths(), want)
			require.ElementsMatch(t, legalPaths(), paths(c.list(t, listParams{})))
		}},
		{name: "create refuses illegal paths", run: func(t *testing.T, c *client) {
			for _, path := range illegalPaths() {
				_, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: path, Content: anthropic.String("x")})
				requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			}
			require.Empty(t, c.list(t, listParams{}))
		}},
		{name: "create requires path and content", run: func(t *testing.T, c *client) {
			for _, body := range []string{``, `{}`, `{"path":"/a"}`, `{"content":"x"}`, `{"path":"/a","content":null}`, `{"path":null,"content":"x"}`,
				`{"path":"/a","content":1}`, `{"path":["/a"],"content":"x"}`, `[]`, `null`, `{`} {
				c.raw(t, http.MethodPost, c.memories(), body).requireInvalid(t)
			}
		}},
		{name: "create never overwrites", run: func(t *testing.T, c *client) {
			old := c.create(t, "/a", "old")
			_, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: "/a", Content: anthropic.String("new")})
			f := requireFailure(t, err, http.StatusConflict, "memory_path_conflict_error")
			requireBlocker(t, f, old)
			require.Equal(t, "old", c.get(t, old.ID).Content)
		}},
		{name: "create refuses a path below or above a memory", run: func(t *testing.T, c *client) {
			file, deep := c.create(t, "/file", "x"), c.create(t, "/dir/sub/deep", "x")
			for path, blocker := range map[string]*memory{"/file/below": file, "/file/far/below": file, "/dir": deep, "/dir/sub": deep} {
				_, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: path, Content: anthropic.String("x")})
				requireBlocker(t, requireFailure(t, err, http.StatusConflict, "memory_path_conflict_error"), blocker)
			}
		}},
		{name: "create tells overlap from likeness", run: func(t *testing.T, c *client) {
			c.createAll(t, "/a", "/a-b", "/a.b", "/a b", "/a0", "/A", "/a_", "/a%", "/aa/b", "/[a]")
			require.Len(t, c.list(t, listParams{}), 10)
		}},
		{name: "create refuses unknown names in the body", full: true, run: func(t *testing.T, c *client) {
			for _, body := range []string{`{"path":"/a","content":"x","extra":1}`, `{"Path":"/a","content":"x"}`, `{"path":"/a","path":"/b","content":"x"}`,
				`{"path":"/a","content":"x"} {}`} {
				c.raw(t, http.MethodPost, c.memories(), body).requireInvalid(t)
			}
			require.Empty(t, c.list(t, listParams{}))
		}},
		{name: "create refuses a body that no content can need", full: true, run: func(t *testing.T, c *client) {
			a := c.raw(t, http.MethodPost, c.memories(), `{"path":"/a","content":"`+strings.Repeat("x", 1<<20)+`"}`)
			require.Equal(t, http.StatusRequestEntityTooLarge, a.status)
			require.Equal(t, "request_too_large", a.body.Error.Type)
		}},
		{name: "create takes the largest content however it is escaped", run: func(t *testing.T, c *client) {
			a := c.raw(t, http.MethodPost, c.memories(), `{"path":"/a","content":"`+strings.Repeat(`\u0001`, store.MaxContent)+`"}`)
			require.Equal(t, http.StatusOK, a.status)
		}},
		{name: "create in an unknown store", run: func(t *testing.T, c *client) {
			_, err := c.api.Memories.New(t.Context(), "memstore_none", newParams{Path: "/a", Content: anthropic.String("x")})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
		}},
	}
}

func requireBlocker(t *testing.T, f failure, blocker *memory) {
	t.Helper()
	require.NotNil(t, f.MemoryID)
	require.NotNil(t, f.Path)
	require.Equal(t, blocker.ID, *f.MemoryID)
	require.Equal(t, blocker.Path, *f.Path)
}

func legalContents() map[string]string {
	return map[string]string{
		"empty": "", "nul": "a\x00b", "bom": "\ufefftext", "controls": "\x01\x1b\u2028\u200d", "lines": "a\r\nb\rc\n", "html": "<a href=\"x\">&amp;</a>\\",
		"decomposed": "e\u0301", "emoji": "👩\u200d🚀", "replacement": "\ufffd", "largest": strings.Repeat("x", store.MaxContent), "wide": strings.Repeat("é", store.MaxContent/2),
	}
}

func legalPaths() []string {
	return []string{
		"/plain", "/with space", "/ leading and trailing ", "/.hidden", "/..twodots", "/trailing.", `/back\slash`, `/quo"te'`, "/st*r?", "/per%20cent%", "/under_score",
		"/-dash", "/COM1", "/é", "/日本", "/😀", "/:colon;semi", "/a#b&c=d+e", "/.anthropic-memory-store", "/s" + strings.Repeat("/s", 19), "/" + strings.Repeat("n", 1_023),
		"/seg" + strings.Repeat("é", 510),
	}
}

func illegalPaths() []string {
	return []string{
		"", "/", "relative", "no/slash", "//", "/a//b", "/a/", "/.", "/..", "/a/./b", "/a/../b", "/nul\x00", "/tab\t", "/line\n", "/del\x7f", "/c1\u0085",
		"/zwj\u200d", "/zwnj\u200c", "/bom\ufeff", "/soft\u00ad", "/bidi\u202e", "/ls\u2028", "/ps\u2029", "/e\u0301", "/s" + strings.Repeat("/s", 20),
		"/" + strings.Repeat("n", 1_024), "/" + strings.Repeat("é", 512),
	}
}

func getChecks() []check {
	return []check{
		{name: "get answers in the full view unless asked otherwise", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "text")
			require.Equal(t, "text", c.get(t, m.ID).Content)
			got, err := c.api.Memories.Get(t.Context(), m.ID, getParams{MemoryStoreID: c.store, View: basic})
			require.NoError(t, err)
			require.False(t, got.JSON.Content.Valid())
			require.Equal(t, m.ContentSha256, got.ContentSha256)
			require.Equal(t, m.MemoryVersionID, got.MemoryVersionID)
			require.Equal(t, m.CreatedAt, got.CreatedAt)
			require.Equal(t, m.UpdatedAt, got.UpdatedAt)
		}},
		{name: "get refuses an unknown view", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "text")
			c.raw(t, http.MethodGet, c.memories()+"/"+m.ID+"?view=whole", "").requireInvalid(t)
		}},
		{name: "get of what does not exist", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "text")
			_, err := c.api.Memories.Get(t.Context(), "mem_none", getParams{MemoryStoreID: c.store})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
			_, err = c.api.Memories.Get(t.Context(), m.ID, getParams{MemoryStoreID: "memstore_none"})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
		}},
	}
}
