package claude_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestR10_ReaderHasNoWriteMethods(t *testing.T) {
	_, api := serve(t, always(200, page(nil)))
	_, isClient := api.Reader(storeID).(store.Client)
	assert.False(t, isClient)
	_, canDelete := api.Reader(storeID).(interface {
		Delete(context.Context, string, store.SHA) error
	})
	assert.False(t, canDelete)
}

func TestList_AsksOnceAndSeparatesPrefixes(t *testing.T) {
	s, api := serve(t, always(200, page("page_2",
		memory("mem_1", "/a.md", "hi", false),
		object{"type": "memory_prefix", "path": "/notes/"},
		memory("mem_2", "/../x", "", false),
		object{"type": "something_new", "id": "x"},
	)))
	got, err := api.Store(storeID).List(t.Context(), store.ListQuery{Prefix: "/", Children: true, Page: "page_1"})
	require.NoError(t, err)

	require.Len(t, s.requests(), 1)
	r := s.requests()[0]
	q, err := url.ParseQuery(r.Query)
	require.NoError(t, err)
	assert.Equal(t, url.Values{"limit": {"100"}, "view": {"basic"}, "depth": {"1"}, "path_prefix": {"/"}, "page": {"page_1"}}, q)
	assert.Equal(t, "/v1/memory_stores/memstore_01/memories", r.Path)
	assert.Equal(t, []string{"agent-memory-2026-07-22"}, r.Header.Values("Anthropic-Beta"))
	assert.Equal(t, "Bearer "+credential, r.Header.Get("Authorization"))

	assert.Equal(t, []string{"/notes/"}, got.Prefixes)
	assert.Equal(t, "page_2", got.Next)
	require.Len(t, got.Memories, 2)
	assert.Equal(t, "/../x", got.Memories[1].Path, "an illegal path is for the caller to count")
	m := got.Memories[0]
	assert.Nil(t, m.Content)
	assert.Equal(t, int64(2), m.Size)
	assert.Equal(t, store.Hash([]byte("hi")), m.SHA)
	assert.Equal(t, "memver_1", m.VersionID)
	assert.Equal(t, 2026, m.UpdatedAt.Year())
}

func TestList_FullViewsAreTwentyAPage(t *testing.T) {
	s, api := serve(t, always(200, page(nil, memory("mem_1", "/a.md", "hi", true), memory("mem_2", "/b.md", "", true, set("content", nil)))))
	got, err := api.Reader(storeID).List(t.Context(), store.ListQuery{Full: true})
	require.NoError(t, err)
	assert.Equal(t, "limit=20&view=full", s.requests()[0].Query)
	assert.Equal(t, []byte("hi"), got.Memories[0].Content)
	assert.Equal(t, []byte{}, got.Memories[1].Content, "a null content of size 0 is an empty text")
	assert.Empty(t, got.Next)
}

func TestList_EmptyPageMayHaveANext(t *testing.T) {
	_, api := serve(t, always(200, page("page_2")))
	got, err := api.Reader(storeID).List(t.Context(), store.ListQuery{})
	require.NoError(t, err)
	assert.Equal(t, "page_2", got.Next)
	_, err = api.Reader(storeID).List(t.Context(), store.ListQuery{Page: "page_2"})
	assert.ErrorIs(t, err, store.ErrProtocol, "a cursor that does not move would never end")
}

func TestR12_OfAPathWithoutEndTheBeginningIsKept(t *testing.T) {
	_, api := serve(t, always(200, page(nil, memory("mem_1", strings.Repeat("/n", 1<<19), "", false))))
	got, err := api.Reader(storeID).List(t.Context(), store.ListQuery{})
	require.NoError(t, err)
	require.Len(t, got.Memories, 1)
	assert.Equal(t, strings.Repeat("/n", store.MaxListedPath/2), got.Memories[0].Path)
	assert.ErrorIs(t, store.CheckPath(got.Memories[0].Path), store.ErrPathTooLong, "as the whole")
}

func TestGet_AnswersAreChecked(t *testing.T) {
	for name, c := range map[string]object{
		"other content":       memory("mem_1", "/a.md", "hi", true, set("content", "ho")),
		"content missing":     memory("mem_1", "/a.md", "hi", false),
		"size":                memory("mem_1", "/a.md", "hi", true, set("content_size_bytes", 3)),
		"negative size":       memory("mem_1", "/a.md", "hi", false, set("content_size_bytes", -2)),
		"hash":                memory("mem_1", "/a.md", "hi", true, set("content_sha256", "12ab")),
		"no hash":             memory("mem_1", "/a.md", "hi", true, set("content_sha256", nil)),
		"no id":               memory("", "/a.md", "hi", true),
		"another id":          memory("mem_2", "/a.md", "hi", true),
		"id like a path":      memory("..", "/a.md", "hi", true),
		"no version":          memory("mem_1", "/a.md", "hi", true, set("memory_version_id", nil)),
		"another store":       memory("mem_1", "/a.md", "hi", true, set("memory_store_id", "memstore_02")),
		"no path":             memory("mem_1", "", "hi", true),
		"nothing":             {},
		"an error without it": fault("api_error"),
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, always(200, c))
			got, err := api.Reader(storeID).Get(t.Context(), "mem_1")
			require.ErrorIs(t, err, store.ErrProtocol)
			assert.Zero(t, got)
		})
	}
}

func TestGet_ContentArrivesByteForByte(t *testing.T) {
	content := "\ufeffline\r\n\x00<&>\u2028 é e\u0301 \U0001F600\x7f"
	_, api := serve(t, always(200, memory("mem_1", "/a.md", content, true)))
	got, err := api.Reader(storeID).Get(t.Context(), "mem_1")
	require.NoError(t, err)
	assert.Equal(t, content, string(got.Content))
}

func TestVersions(t *testing.T) {
	s, api := serve(t, always(200, page("page_2",
		version("memver_3", set("operation", "deleted"), set("content_sha256", nil), set("content_size_bytes", nil),
			set("created_by", object{"type": "session_actor", "session_id": "sesn_1"})),
		version("memver_2", set("redacted_at", at), set("path", nil), set("content_sha256", nil), set("content_size_bytes", nil)),
		version("memver_1", set("created_by", nil)),
	)))
	since := time.Date(2026, 11, 1, 9, 0, 0, 5000, time.UTC)
	got, err := api.Reader(storeID).Versions(t.Context(), store.VersionQuery{MemoryID: "mem_1", Since: since, Limit: 1, Page: "page_1"})
	require.NoError(t, err)

	q, err := url.ParseQuery(s.requests()[0].Query)
	require.NoError(t, err)
	asked, err := time.Parse(time.RFC3339Nano, q.Get("created_at[gte]"))
	require.NoError(t, err)
	assert.True(t, asked.Equal(since), "the bound keeps its fraction: %s", q.Get("created_at[gte]"))
	q.Del("created_at[gte]")
	assert.Equal(t, url.Values{"memory_id": {"mem_1"}, "limit": {"1"}, "view": {"basic"}, "page": {"page_1"}}, q)

	require.Len(t, got.Versions, 3)
	assert.Equal(t, "page_2", got.Next)
	gone, redacted, edit := got.Versions[0], got.Versions[1], got.Versions[2]
	assert.Equal(t, store.Deleted, gone.Operation)
	assert.True(t, gone.SHA.IsZero())
	assert.Equal(t, store.Actor{Type: "session_actor", ID: "sesn_1"}, gone.CreatedBy)
	assert.True(t, redacted.Redacted())
	assert.Empty(t, redacted.Path)
	assert.True(t, redacted.SHA.IsZero())
	assert.Equal(t, store.Hash([]byte("hi")), edit.SHA)
	assert.Equal(t, int64(2), edit.Size)
	assert.Zero(t, edit.CreatedBy)
}

func TestVersions_AnswersAreChecked(t *testing.T) {
	for name, v := range map[string]object{
		"no id":         version(""),
		"no memory":     version("memver_1", set("memory_id", nil)),
		"another store": version("memver_1", set("memory_store_id", "memstore_02")),
		"no time":       version("memver_1", set("created_at", nil)),
		"no path":       version("memver_1", set("path", nil)),
		"no hash":       version("memver_1", set("content_sha256", nil)),
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, always(200, page(nil, v)))
			_, err := api.Reader(storeID).Versions(t.Context(), store.VersionQuery{})
			assert.ErrorIs(t, err, store.ErrProtocol)
		})
	}
}

func TestVersion_FullContentIsChecked(t *testing.T) {
	s, api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text := "hi"
		if r.URL.Path == "/v1/memory_stores/memstore_01/memory_versions/memver_2" {
			text = "ho"
		}
		reply(w, 200, version(r.URL.Path[len("/v1/memory_stores/memstore_01/memory_versions/"):], set("content", text)))
	})
	got, err := api.Reader(storeID).Version(t.Context(), "memver_1")
	require.NoError(t, err)
	assert.Equal(t, []byte("hi"), got.Content)
	_, err = api.Reader(storeID).Version(t.Context(), "memver_2")
	require.ErrorIs(t, err, store.ErrProtocol)
	assert.Equal(t, "view=full", s.requests()[0].Query)
}

func TestInfo(t *testing.T) {
	s, api := serve(t, always(200, storeObject(storeID, "Notes", at)))
	got, err := api.Reader(storeID).Info(t.Context())
	require.NoError(t, err)
	assert.True(t, got.Archived())
	assert.Equal(t, "Notes", got.Name)
	assert.Equal(t, map[string]string{"k": "v"}, got.Metadata)
	assert.Equal(t, []string{"agent-memory-2026-07-22"}, s.requests()[0].Header.Values("Anthropic-Beta"))
	_, err = api.Reader("memstore_02").Info(t.Context())
	assert.ErrorIs(t, err, store.ErrProtocol, "the answer is about another store")
	_, err = api.Reader("../etc").Info(t.Context())
	assert.ErrorIs(t, err, store.ErrInvalid)
	assert.Len(t, s.requests(), 2, "an impossible id is not sent")
}

// R2: a size that cannot be that of the text with this hash is not believed.
func TestR2_SizesThatLie(t *testing.T) {
	for name, edit := range map[string]func(object){
		"negative":                      set("content_size_bytes", -1),
		"over any answer":               set("content_size_bytes", int64(1)<<62),
		"none of something":             set("content_size_bytes", 0),
		"something of nothing":          set("content_sha256", store.Hash(nil).String()),
		"a hash of zeros stands for no": set("content_sha256", store.SHA{}.String()),
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, always(200, page(nil, memory("mem_1", "/a.md", "hi", false, edit))))
			_, err := api.Store(storeID).List(t.Context(), store.ListQuery{})
			assert.ErrorIs(t, err, store.ErrProtocol)
		})
	}
}

// R5: times that no file can have are the nearest that one can.
func TestR5_TimesBeyondAFiles(t *testing.T) {
	_, api := serve(t, always(200, page(nil,
		memory("mem_1", "/a.md", "hi", false, set("updated_at", "9999-12-31T23:59:59Z"), set("created_at", "0001-01-02T00:00:00Z")))))
	got, err := api.Store(storeID).List(t.Context(), store.ListQuery{})
	require.NoError(t, err)
	m := got.Memories[0]
	assert.Equal(t, 2262, m.UpdatedAt.UTC().Year())
	assert.Equal(t, 1677, m.CreatedAt.UTC().Year())
	assert.True(t, time.Unix(0, m.UpdatedAt.UnixNano()).Equal(m.UpdatedAt))
}
