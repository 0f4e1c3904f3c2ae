package claude_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// embedded starts the embedded store with one store in it.
func embedded(t *testing.T, o local.Options) (url string, api *claude.API, info store.Info) {
	t.Helper()
	server, err := local.Open(t.TempDir(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	srv := httptest.NewServer(server.Handler())
	t.Cleanup(srv.Close)
	api = connect(t, claude.Config{BaseURL: srv.URL, Credential: credential})
	info, err = api.CreateStore(t.Context(), "Notes", "for tests")
	require.NoError(t, err)
	return srv.URL, api, info
}

func TestLocal_LifeOfAMemory(t *testing.T) {
	_, api, info := embedded(t, local.Options{})
	ctx, c := t.Context(), api.Store(info.ID)
	found, err := api.Find(ctx, "Notes")
	require.NoError(t, err)
	assert.Equal(t, info, found)

	odd := []byte("\ufeff\x00<&>\u2028\U0001F600\r\n")
	made, err := c.Create(ctx, "/notes/ü \\ 1.md", odd)
	require.NoError(t, err)
	got, err := c.Get(ctx, made.ID)
	require.NoError(t, err)
	assert.Equal(t, odd, got.Content)

	_, err = c.Create(ctx, "/notes", nil)
	var conflict *store.PathConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, made.ID, conflict.ID)
	assert.Equal(t, made.Path, conflict.Path)

	text, path := []byte("two"), "/moved.md"
	change := store.Update{Content: &text, Path: &path, Expect: made.SHA}
	moved, err := c.Update(ctx, made.ID, change)
	require.NoError(t, err)
	assert.Equal(t, made.ID, moved.ID)
	again, err := c.Update(ctx, made.ID, change)
	require.NoError(t, err, "a repeated update is no other writer")
	assert.Equal(t, moved.VersionID, again.VersionID)

	other := []byte("three")
	_, err = c.Update(ctx, made.ID, store.Update{Content: &other, Expect: made.SHA})
	require.ErrorIs(t, err, store.ErrPrecondition)
	require.ErrorIs(t, c.Delete(ctx, made.ID, made.SHA), store.ErrPrecondition)
	require.NoError(t, c.Delete(ctx, made.ID, moved.SHA))
	require.ErrorIs(t, c.Delete(ctx, made.ID, moved.SHA), store.ErrNotFound)
	_, err = c.Get(ctx, made.ID)
	require.ErrorIs(t, err, store.ErrNotFound)

	history, err := c.Versions(ctx, store.VersionQuery{MemoryID: made.ID, Full: true})
	require.NoError(t, err)
	require.Len(t, history.Versions, 3)
	assert.Equal(t, store.Deleted, history.Versions[0].Operation)
	assert.Equal(t, store.Modified, history.Versions[1].Operation)
	assert.Equal(t, text, history.Versions[1].Content)
	assert.NotEmpty(t, history.Versions[1].CreatedBy.Type)
	first, err := c.Version(ctx, made.VersionID)
	require.NoError(t, err)
	assert.Equal(t, odd, first.Content)

	since, err := c.Versions(ctx, store.VersionQuery{Since: history.Versions[0].CreatedAt})
	require.NoError(t, err)
	require.NotEmpty(t, since.Versions)
	assert.Equal(t, history.Versions[0].ID, since.Versions[0].ID, "the bound is inclusive and keeps its fraction")
}

func TestLocal_ListingsPageAndGroup(t *testing.T) {
	_, api, info := embedded(t, local.Options{})
	ctx, c := t.Context(), api.Store(info.ID)
	const n = 45
	for i := range n {
		_, err := c.Create(ctx, fmt.Sprintf("/d%d/%02d.md", i%3, i), fmt.Appendf(nil, "text %d", i))
		require.NoError(t, err)
	}
	children, err := c.List(ctx, store.ListQuery{Children: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"/d0/", "/d1/", "/d2/"}, children.Prefixes)
	assert.Empty(t, children.Memories)

	below, err := c.List(ctx, store.ListQuery{Prefix: "/d1/"})
	require.NoError(t, err)
	assert.Len(t, below.Memories, n/3)

	ids := map[string]bool{}
	pages := 0
	for q := (store.ListQuery{Full: true}); ; pages++ {
		page, err := c.List(ctx, q)
		require.NoError(t, err)
		for _, m := range page.Memories {
			assert.NotEmpty(t, m.Content)
			ids[m.ID] = true
		}
		if q.Page = page.Next; q.Page == "" {
			break
		}
	}
	assert.Len(t, ids, n)
	assert.Equal(t, 2, pages, "three pages of twenty")
}

func TestLocal_RefusedWrites(t *testing.T) {
	url, api, info := embedded(t, local.Options{MaxMemories: 2})
	ctx, c := t.Context(), api.Store(info.ID)
	one, err := c.Create(ctx, "/one.md", []byte("1"))
	require.NoError(t, err)

	_, err = c.Create(ctx, "/a//b", nil)
	require.ErrorIs(t, err, store.ErrInvalid)
	large := make([]byte, store.MaxContent+1)
	_, err = c.Update(ctx, one.ID, store.Update{Content: &large, Expect: one.SHA})
	require.ErrorIs(t, err, store.ErrInvalid)

	_, err = c.Create(ctx, "/two.md", nil)
	require.NoError(t, err)
	_, err = c.Create(ctx, "/three.md", nil)
	require.ErrorIs(t, err, store.ErrInvalid, "one request cannot tell a full store")

	archiveStore(t, url, info.ID)
	text := []byte("2")
	_, err = api.Store(info.ID).Update(ctx, one.ID, store.Update{Content: &text, Expect: one.SHA})
	require.ErrorIs(t, err, store.ErrArchived)
	require.NoError(t, c.Delete(ctx, one.ID, one.SHA), "an archived store still deletes")
	_, err = api.Find(ctx, "Notes")
	require.ErrorIs(t, err, store.ErrNotFound, "archived: by id only")
	_, err = api.Find(ctx, info.ID)
	require.NoError(t, err)

	_, err = api.Store("memstore_unknown").List(ctx, store.ListQuery{})
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestLocal_RefusedCredential(t *testing.T) {
	url, _, _ := embedded(t, local.Options{Credential: credential})
	_, err := connect(t, claude.Config{BaseURL: url, Credential: "other"}).Stores(t.Context())
	require.ErrorIs(t, err, store.ErrUnauthorized)
}

func archiveStore(t *testing.T, url, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/memory_stores/"+id+"/archive", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+credential)
	req.Header.Set("Anthropic-Beta", "agent-memory-2026-07-22")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 200, res.StatusCode)
}
