package claude_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
)

func TestNew_RefusesAnUnusableAddress(t *testing.T) {
	for _, u := range []string{"localhost:80", "ftp://host", "://", "http://", "http://user:secret@[::1"} {
		_, err := claude.New(claude.Config{BaseURL: u})
		require.Error(t, err, u)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestNew_TakesCredentialAndAddressFromTheEnvironment(t *testing.T) {
	s := &script{answer: always(200, page(nil))}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Setenv("ANTHROPIC_BASE_URL", srv.URL)
	t.Setenv("ANTHROPIC_API_KEY", "from-env")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "anthropic-beta: managed-agents-2026-04-01\nx-api-key: other")

	_, err := connect(t, claude.Config{}).Stores(t.Context())
	require.NoError(t, err)
	_, err = connect(t, claude.Config{Credential: "given"}).Stores(t.Context())
	require.NoError(t, err)

	r := s.requests()
	require.Len(t, r, 2)
	assert.Equal(t, "Bearer from-env", r[0].Header.Get("Authorization"))
	assert.Equal(t, "Bearer given", r[1].Header.Get("Authorization"))
	assert.Empty(t, r[1].Header.Get("X-Api-Key"), "a given credential travels alone")
	for _, r := range r {
		assert.Equal(t, []string{"agent-memory-2026-07-22"}, r.Header.Values("Anthropic-Beta"),
			"the API refuses a memory call with two beta values")
	}
}

func TestNew_WithoutACredentialSaysSo(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := &script{answer: always(200, page(nil))}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	_, err := connect(t, claude.Config{BaseURL: srv.URL}).Stores(t.Context())
	require.ErrorIs(t, err, store.ErrUnauthorized)
	assert.Empty(t, s.requests())
}

func TestCreateStore(t *testing.T) {
	s, api := serve(t, always(200, storeObject("memstore_09", "Notes", nil)))
	got, err := api.CreateStore(t.Context(), "Notes", "what for")
	require.NoError(t, err)
	assert.Equal(t, "memstore_09", got.ID)
	_, err = api.CreateStore(t.Context(), "Notes", "")
	require.NoError(t, err)
	assert.Equal(t, object{"name": "Notes", "description": "what for"}, s.requests()[0].Body)
	assert.Equal(t, object{"name": "Notes"}, s.requests()[1].Body)
}

// stores serves a listing of two pages and reads by id.
func stores(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/memory_stores/memstore_old":
		reply(w, 200, storeObject("memstore_old", "Old", at))
	case r.URL.Path != "/v1/memory_stores":
		reply(w, 404, fault("not_found_error"))
	case r.URL.Query().Get("page") == "":
		reply(w, 200, page("page_2", storeObject("memstore_1", "Notes", nil), storeObject("memstore_2", "Team", nil)))
	default:
		reply(w, 200, page(nil, storeObject("memstore_3", "Team", nil), storeObject("custom-4", "memstore_named", nil)))
	}
}

func TestFind(t *testing.T) {
	_, api := serve(t, stores)
	for ref, want := range map[string]string{
		"memstore_old":   "memstore_old", // archived: by id only
		"Notes":          "memstore_1",
		"memstore_3":     "memstore_3",
		"custom-4":       "custom-4",
		"memstore_named": "custom-4",
	} {
		got, err := api.Find(t.Context(), ref)
		require.NoError(t, err, ref)
		assert.Equal(t, want, got.ID)
	}
}

func TestFind_UnknownAndAmbiguousNameTheStores(t *testing.T) {
	_, api := serve(t, stores)
	_, err := api.Find(t.Context(), "Nots")
	var unknown *claude.UnknownStoreError
	require.ErrorAs(t, err, &unknown)
	require.ErrorIs(t, err, store.ErrNotFound)
	assert.Len(t, unknown.Known, 4)
	assert.Contains(t, err.Error(), `memstore_1 ("Notes")`)

	_, err = api.Find(t.Context(), "Team")
	var ambiguous *claude.AmbiguousStoreError
	require.ErrorAs(t, err, &ambiguous)
	assert.Len(t, ambiguous.Candidates, 2)
	assert.Contains(t, err.Error(), "memstore_2")
	assert.Contains(t, err.Error(), "memstore_3")

	_, err = api.Find(t.Context(), "../../etc")
	require.ErrorAs(t, err, &unknown)
}

func TestFind_FailuresPass(t *testing.T) {
	_, api := serve(t, always(401, fault("authentication_error")))
	for _, ref := range []string{"memstore_1", "Notes"} {
		_, err := api.Find(t.Context(), ref)
		require.ErrorIs(t, err, store.ErrUnauthorized)
	}
}

func TestStores_StandingCursorEnds(t *testing.T) {
	_, api := serve(t, always(200, page("page_1", storeObject("memstore_1", "Notes", nil))))
	_, err := api.Stores(t.Context())
	require.ErrorIs(t, err, store.ErrProtocol)
}
