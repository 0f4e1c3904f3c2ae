package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

func updateChecks() []check {
	content := func(s string) editParams { return editParams{Content: anthropic.String(s)} }
	return []check{
		{name: "update changes the content, not the identity", run: func(t *testing.T, c *client) {
			old := c.create(t, "/a", "old")
			m, err := c.update(t, old.ID, content("new"))
			require.NoError(t, err)
			require.Equal(t, old.ID, m.ID)
			require.Equal(t, "/a", m.Path)
			require.Equal(t, sha("new"), m.ContentSha256)
			require.NotEqual(t, old.MemoryVersionID, m.MemoryVersionID)
			require.Equal(t, old.CreatedAt, m.CreatedAt)
			require.True(t, m.UpdatedAt.After(old.UpdatedAt))
			require.False(t, m.JSON.Content.Valid())
			require.Equal(t, "new", c.get(t, m.ID).Content)
		}},
		{name: "update answers with the content in the full view", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "old")
			got, err := c.update(t, m.ID, editParams{Content: anthropic.String("new"), View: full})
			require.NoError(t, err)
			require.Equal(t, "new", got.Content)
		}},
		{name: "update can empty a memory", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "old")
			_, err := c.update(t, m.ID, content(""))
			require.NoError(t, err)
			got := c.get(t, m.ID)
			require.True(t, got.JSON.Content.Valid())
			require.Empty(t, got.Content)
			require.EqualValues(t, 0, got.ContentSizeBytes)
		}},
		{name: "update to what is there already writes no version", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "same")
			for _, p := range []editParams{content("same"), {Path: anthropic.String("/a")}, {Content: anthropic.String("same"), Path: anthropic.String("/a")}} {
				got, err := c.update(t, m.ID, p)
				require.NoError(t, err)
				require.Equal(t, m.MemoryVersionID, got.MemoryVersionID)
				require.Equal(t, m.UpdatedAt, got.UpdatedAt)
			}
			require.Len(t, c.history(t, histParams{}), 1)
		}},
		{name: "update holds to its precondition", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "one")
			p := content("two")
			p.Precondition = expect("one")
			_, err := c.update(t, m.ID, p)
			require.NoError(t, err)
			p = content("three")
			p.Precondition = expect("one")
			_, err = c.update(t, m.ID, p)
			requireFailure(t, err, http.StatusConflict, "memory_precondition_failed_error")
			require.Equal(t, "two", c.get(t, m.ID).Content)
			require.Len(t, c.history(t, histParams{}), 2)
		}},
		{name: "update can be repeated when the answer was lost", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "one")
			p := editParams{Content: anthropic.String("two"), Path: anthropic.String("/b"), Precondition: expect("one")}
			first, err := c.update(t, m.ID, p)
			require.NoError(t, err)
			again, err := c.update(t, m.ID, p)
			require.NoError(t, err)
			require.Equal(t, first.MemoryVersionID, again.MemoryVersionID)
			p.Path = anthropic.String("/c")
			_, err = c.update(t, m.ID, p)
			requireFailure(t, err, http.StatusConflict, "memory_precondition_failed_error")
		}},
		{name: "update must change something", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			for _, body := range []string{``, `{}`, `{"content":null}`, `{"path":null,"content":null}`, `{"precondition":{"type":"content_sha256","content_sha256":"` + sha("x") + `"}}`,
				`{"content":7}`, `[]`} {
				c.raw(t, http.MethodPost, c.memories()+"/"+m.ID, body).requireInvalid(t)
			}
		}},
		{name: "update refuses illegal contents and paths", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			_, err := c.update(t, m.ID, content(strings.Repeat("x", store.MaxContent+1)))
			requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			for _, path := range []string{"/", "/a//b", "/../x", "/e\u0301", "relative", "/a\u200d"} {
				_, err := c.update(t, m.ID, editParams{Path: anthropic.String(path)})
				requireFailure(t, err, http.StatusBadRequest, "invalid_request_error")
			}
			require.Equal(t, m.MemoryVersionID, c.get(t, m.ID).MemoryVersionID)
		}},
		{name: "update refuses a precondition it does not know", full: true, run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			for _, p := range []string{`{}`, `{"type":"etag","content_sha256":"` + sha("x") + `"}`, `{"type":"content_sha256"}`, `{"type":"content_sha256","content_sha256":"beef"}`,
				`{"type":"content_sha256","content_sha256":"` + strings.ToUpper(sha("x")) + `"}`,
				`{"type":"content_sha256","content_sha256":"` + sha("x") + `","extra":1}`} {
				c.raw(t, http.MethodPost, c.memories()+"/"+m.ID, `{"content":"y","precondition":`+p+`}`).requireInvalid(t)
			}
			c.raw(t, http.MethodPost, c.memories()+"/"+m.ID, `{"content":"y","extra":1}`).requireInvalid(t)
			c.raw(t, http.MethodPost, c.memories()+"/"+m.ID, `{"path":""}`).requireInvalid(t)
			require.Equal(t, "x", c.get(t, m.ID).Content)
		}},
		{name: "update without a precondition, said as null", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			a := c.raw(t, http.MethodPost, c.memories()+"/"+m.ID, `{"content":"y","path":null,"precondition":null}`)
			require.Equal(t, http.StatusOK, a.status, a.text)
			require.Equal(t, "y", c.get(t, m.ID).Content)
		}},
		{name: "update of what does not exist", run: func(t *testing.T, c *client) {
			_, err := c.update(t, "mem_none", content("x"))
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
		}},
	}
}

func renameChecks() []check {
	rename := func(path string) editParams { return editParams{Path: anthropic.String(path)} }
	return []check{
		{name: "rename keeps identity, content and history", run: func(t *testing.T, c *client) {
			old := c.create(t, "/a", "text")
			m, err := c.update(t, old.ID, rename("/dir/b"))
			require.NoError(t, err)
			require.Equal(t, old.ID, m.ID)
			require.Equal(t, "/dir/b", m.Path)
			require.Equal(t, old.ContentSha256, m.ContentSha256)
			require.Equal(t, "text", c.get(t, m.ID).Content)
			require.Equal(t, []string{"/dir/b"}, paths(c.list(t, listParams{})))
			history := c.history(t, histParams{MemoryID: anthropic.String(m.ID), View: full})
			require.Len(t, history, 2)
			require.Equal(t, anthropic.BetaManagedAgentsMemoryVersionOperationModified, history[0].Operation)
			require.Equal(t, "/dir/b", history[0].Path)
			require.Equal(t, "text", history[0].Content)
			require.Equal(t, "/a", history[1].Path)
		}},
		{name: "rename with new content is one change", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "old")
			_, err := c.update(t, m.ID, editParams{Path: anthropic.String("/b"), Content: anthropic.String("new")})
			require.NoError(t, err)
			got := c.get(t, m.ID)
			require.Equal(t, []string{"/b", "new"}, []string{got.Path, got.Content})
			require.Len(t, c.history(t, histParams{}), 2)
		}},
		{name: "rename never overwrites", run: func(t *testing.T, c *client) {
			m, file, deep := c.create(t, "/m", "x"), c.create(t, "/file", "y"), c.create(t, "/dir/deep", "z")
			for path, blocker := range map[string]*memory{"/file": file, "/file/below": file, "/dir": deep} {
				_, err := c.update(t, m.ID, rename(path))
				requireBlocker(t, requireFailure(t, err, http.StatusConflict, "memory_path_conflict_error"), blocker)
			}
			require.Equal(t, m.MemoryVersionID, c.get(t, m.ID).MemoryVersionID)
		}},
		{name: "rename is not in its own way", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			for _, path := range []string{"/a/b", "/a/b/c", "/a"} {
				got, err := c.update(t, m.ID, rename(path))
				require.NoError(t, err)
				require.Equal(t, path, got.Path)
			}
		}},
		{name: "rename holds to its precondition on the content", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			p := rename("/b")
			p.Precondition = expect("other")
			_, err := c.update(t, m.ID, p)
			requireFailure(t, err, http.StatusConflict, "memory_precondition_failed_error")
			p.Precondition = expect("x")
			_, err = c.update(t, m.ID, p)
			require.NoError(t, err)
		}},
		{name: "rename changes case", run: func(t *testing.T, c *client) {
			m := c.create(t, "/readme", "x")
			got, err := c.update(t, m.ID, rename("/README"))
			require.NoError(t, err)
			require.Equal(t, "/README", got.Path)
		}},
		{name: "a path is free once its memory is gone from it", run: func(t *testing.T, c *client) {
			m := c.create(t, "/dir/a", "x")
			_, err := c.update(t, m.ID, rename("/b"))
			require.NoError(t, err)
			next := c.create(t, "/dir", "y")
			require.NotEqual(t, m.ID, next.ID)
			c.delete(t, next.ID)
			c.create(t, "/dir/a", "z")
		}},
	}
}

func deleteChecks() []check {
	return []check{
		{name: "delete removes the memory and keeps its history", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			got, err := c.api.Memories.Delete(t.Context(), m.ID, dropParams{MemoryStoreID: c.store})
			require.NoError(t, err)
			require.Equal(t, m.ID, got.ID)
			require.EqualValues(t, "memory_deleted", got.Type)
			_, err = c.api.Memories.Get(t.Context(), m.ID, getParams{MemoryStoreID: c.store})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
			require.Empty(t, c.list(t, listParams{}))
			require.Len(t, c.history(t, histParams{MemoryID: anthropic.String(m.ID)}), 2)
		}},
		{name: "delete holds to the expected content", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			_, err := c.api.Memories.Delete(t.Context(), m.ID, dropParams{MemoryStoreID: c.store, ExpectedContentSha256: anthropic.String(sha("y"))})
			requireFailure(t, err, http.StatusConflict, "memory_precondition_failed_error")
			require.Equal(t, "x", c.get(t, m.ID).Content)
			_, err = c.api.Memories.Delete(t.Context(), m.ID, dropParams{MemoryStoreID: c.store, ExpectedContentSha256: anthropic.String(sha("x"))})
			require.NoError(t, err)
		}},
		{name: "delete refuses an expected content that is no hash", full: true, run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			c.raw(t, http.MethodDelete, c.memories()+"/"+m.ID+"?expected_content_sha256=beef", "").requireInvalid(t)
			require.Equal(t, "x", c.get(t, m.ID).Content)
		}},
		{name: "delete of what is gone", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			c.delete(t, m.ID)
			_, err := c.api.Memories.Delete(t.Context(), m.ID, dropParams{MemoryStoreID: c.store, ExpectedContentSha256: anthropic.String(sha("x"))})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
			_, err = c.update(t, m.ID, editParams{Content: anthropic.String("y")})
			requireFailure(t, err, http.StatusNotFound, "not_found_error")
			require.Len(t, c.history(t, histParams{}), 2)
		}},
		{name: "what is created again is another memory", run: func(t *testing.T, c *client) {
			m := c.create(t, "/a", "x")
			c.delete(t, m.ID)
			require.NotEqual(t, m.ID, c.create(t, "/a", "x").ID)
		}},
	}
}
