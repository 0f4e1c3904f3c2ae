package claude_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestCreate_SendsTheTextAsItIs(t *testing.T) {
	for _, content := range []string{"", "hi\n", "\ufeff\x00<&>\u2028\U0001F600"} {
		s, api := serve(t, always(200, memory("mem_1", "/a b/ü.md", content, false)))
		got, err := api.Store(storeID).Create(t.Context(), "/a b/ü.md", []byte(content))
		require.NoError(t, err)
		assert.Equal(t, store.Hash([]byte(content)), got.SHA)
		require.Len(t, s.requests(), 1)
		r := s.requests()[0]
		assert.Equal(t, http.MethodPost, r.Method)
		assert.Equal(t, object{"path": "/a b/ü.md", "content": content}, r.Body)
		assert.Equal(t, []string{"agent-memory-2026-07-22"}, r.Header.Values("Anthropic-Beta"))
	}
}

func TestWrites_InvalidUTF8IsNeverSent(t *testing.T) {
	s, api := serve(t, always(500, nil))
	bad, badPath, c := []byte("a\xffb"), "/\xff", api.Store(storeID)
	_, err := c.Create(t.Context(), "/a", bad)
	require.ErrorIs(t, err, store.ErrNotText)
	_, err = c.Create(t.Context(), badPath, nil)
	require.ErrorIs(t, err, store.ErrPathIllegal)
	_, err = c.Update(t.Context(), "mem_1", store.Update{Content: &bad, Expect: store.Hash(nil)})
	require.ErrorIs(t, err, store.ErrNotText)
	_, err = c.Update(t.Context(), "mem_1", store.Update{Path: &badPath, Expect: store.Hash(nil)})
	require.ErrorIs(t, err, store.ErrPathIllegal)
	assert.Empty(t, s.requests())
}

func TestUpdate_SendsOnlyWhatChanges(t *testing.T) {
	old, text, path := store.Hash([]byte("old")), []byte("new"), "/b.md"
	precondition := object{"type": "content_sha256", "content_sha256": old.String()}
	for _, c := range []struct {
		name   string
		update store.Update
		answer object
		want   object
	}{
		{"content", store.Update{Content: &text, Expect: old}, memory("mem_1", "/a.md", "new", false), object{"content": "new"}},
		{"emptied", store.Update{Content: new([]byte), Expect: old}, memory("mem_1", "/a.md", "", false), object{"content": ""}},
		{"path", store.Update{Path: &path, Expect: old}, memory("mem_1", "/b.md", "old", false), object{"path": "/b.md"}},
		{"both", store.Update{Content: &text, Path: &path, Expect: old}, memory("mem_1", "/b.md", "new", false), object{"content": "new", "path": "/b.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, api := serve(t, always(200, c.answer))
			_, err := api.Store(storeID).Update(t.Context(), "mem_1", c.update)
			require.NoError(t, err)
			c.want["precondition"] = precondition
			require.Len(t, s.requests(), 1)
			assert.Equal(t, c.want, s.requests()[0].Body)
			assert.Equal(t, http.MethodPost, s.requests()[0].Method)
		})
	}
}

func TestWrites_NeedAnExpectedHash(t *testing.T) {
	s, api := serve(t, always(500, nil))
	path, c := "/b.md", api.Store(storeID)
	_, err := c.Update(t.Context(), "mem_1", store.Update{Path: &path})
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = c.Update(t.Context(), "mem_1", store.Update{Expect: store.Hash(nil)})
	require.ErrorIs(t, err, store.ErrInvalid)
	require.ErrorIs(t, c.Delete(t.Context(), "mem_1", store.SHA{}), store.ErrInvalid)
	assert.Empty(t, s.requests(), "an unconditional write would overwrite a stranger's edit")
}

func TestWrites_AnswersAreChecked(t *testing.T) {
	text, path := []byte("hi"), "/a.md"
	for name, answer := range map[string]object{
		"another text": memory("mem_1", "/a.md", "ho", false),
		"another path": memory("mem_1", "/b.md", "hi", false),
		"no id":        memory("", "/a.md", "hi", false),
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, always(200, answer))
			_, err := api.Store(storeID).Create(t.Context(), path, text)
			require.ErrorIs(t, err, store.ErrProtocol)
			_, err = api.Store(storeID).Update(t.Context(), "mem_1", store.Update{Content: &text, Path: &path, Expect: store.Hash(nil)})
			require.ErrorIs(t, err, store.ErrProtocol)
		})
	}
	_, api := serve(t, always(200, memory("mem_2", "/a.md", "hi", false)))
	_, err := api.Store(storeID).Update(t.Context(), "mem_1", store.Update{Content: &text, Expect: store.Hash(nil)})
	require.ErrorIs(t, err, store.ErrProtocol, "another memory answers")
}

func TestDelete(t *testing.T) {
	s, api := serve(t, always(200, object{"id": "mem_1", "type": "memory_deleted"}))
	sum := store.Hash([]byte("hi"))
	require.NoError(t, api.Store(storeID).Delete(t.Context(), "mem_1", sum))
	r := s.requests()[0]
	assert.Equal(t, http.MethodDelete, r.Method)
	assert.Equal(t, "expected_content_sha256="+sum.String(), r.Query)
	assert.ErrorIs(t, api.Store(storeID).Delete(t.Context(), "mem_2", sum), store.ErrProtocol)
}

func TestConflict_NamesTheBlocker(t *testing.T) {
	body := fault("memory_path_conflict_error")
	body["error"].(object)["conflicting_memory_id"] = "mem_9"
	body["error"].(object)["conflicting_path"] = "/a"
	s, api := serve(t, always(409, body))
	_, err := api.Store(storeID).Create(t.Context(), "/a/b", nil)
	var conflict *store.PathConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, store.PathConflictError{ID: "mem_9", Path: "/a"}, *conflict)
	assert.Len(t, s.requests(), 1)
}

// archive answers writes with 400 and reads of the store with get.
func archive(get http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			get(w, r)
			return
		}
		reply(w, 400, fault("invalid_request_error"))
	}
}

func TestRefusedWrite_ArchivedOrInvalid(t *testing.T) {
	text := []byte("hi")
	for _, c := range []struct {
		name string
		get  http.HandlerFunc
		want error
	}{
		{"archived", always(200, storeObject(storeID, "n", at)), store.ErrArchived},
		{"open", always(200, storeObject(storeID, "n", nil)), store.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, api := serve(t, archive(c.get))
			client := api.Store(storeID)
			for range 3 {
				_, err := client.Create(t.Context(), "/a", text)
				require.ErrorIs(t, err, c.want)
				_, err = client.Update(t.Context(), "mem_1", store.Update{Content: &text, Expect: store.Hash(nil)})
				require.ErrorIs(t, err, c.want)
			}
			assert.Len(t, s.requests(), 7, "six writes and one look at the store")
		})
	}
}

func TestRefusedWrite_UnknownReasonIsTriedAgain(t *testing.T) {
	for name, get := range map[string]http.HandlerFunc{
		"outage":     always(503, fault("api_error")),
		"store gone": always(404, fault("not_found_error")),
		"forbidden":  always(403, fault("permission_error")),
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, archive(get))
			_, err := api.Store(storeID).Update(t.Context(), "mem_1", store.Update{Content: new([]byte), Expect: store.Hash([]byte("x"))})
			require.ErrorIs(t, err, store.ErrUnavailable)
			assert.NotErrorIs(t, err, store.ErrInvalid, "the content is not known to be at fault")
			assert.NotErrorIs(t, err, store.ErrNotFound, "the memory is not known to be gone")
		})
	}
}

func TestDelete_OfAnArchivedStoreIsNoSpecialCase(t *testing.T) {
	s, api := serve(t, always(400, fault("invalid_request_error")))
	err := api.Store(storeID).Delete(t.Context(), "mem_1", store.Hash(nil))
	require.ErrorIs(t, err, store.ErrInvalid)
	assert.Len(t, s.requests(), 1)
}

func TestLargestContentGoesOut(t *testing.T) {
	content := strings.Repeat("\x01", store.MaxContent)
	s, api := serve(t, always(200, memory("mem_1", "/a", content, false)))
	_, err := api.Store(storeID).Create(t.Context(), "/a", []byte(content))
	require.NoError(t, err)
	assert.Equal(t, content, s.requests()[0].Body["content"])
}
