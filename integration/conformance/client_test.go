package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/pagination"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

// Short names for the SDK's.
type (
	memory     = anthropic.BetaManagedAgentsMemory
	listItem   = anthropic.BetaManagedAgentsMemoryListItemUnion
	version    = anthropic.BetaManagedAgentsMemoryVersion
	storeInfo  = anthropic.BetaManagedAgentsMemoryStore
	newParams  = anthropic.BetaMemoryStoreMemoryNewParams
	getParams  = anthropic.BetaMemoryStoreMemoryGetParams
	editParams = anthropic.BetaMemoryStoreMemoryUpdateParams
	listParams = anthropic.BetaMemoryStoreMemoryListParams
	dropParams = anthropic.BetaMemoryStoreMemoryDeleteParams
	histParams = anthropic.BetaMemoryStoreMemoryVersionListParams
	verParams  = anthropic.BetaMemoryStoreMemoryVersionGetParams
)

const (
	basic = anthropic.BetaManagedAgentsMemoryViewBasic
	full  = anthropic.BetaManagedAgentsMemoryViewFull
)

// client talks to the server under test: through the SDK, without its retries,
// and with raw requests for what the SDK cannot say.
type client struct {
	api                         anthropic.BetaMemoryStoreService
	sessions                    anthropic.BetaSessionService
	work                        anthropic.BetaEnvironmentWorkService
	url, key                    string
	store                       string
	environment, environmentKey string
}

func newClient(url, key string) *client {
	options := []option.RequestOption{option.WithBaseURL(url), option.WithAPIKey(key), option.WithMaxRetries(0)}
	return &client{
		api: anthropic.NewBetaMemoryStoreService(options...), sessions: anthropic.NewBetaSessionService(options...),
		work: anthropic.NewBetaEnvironmentWorkService(options...), url: url, key: key,
	}
}

func (c *client) makeStore(t *testing.T) string {
	t.Helper()
	st, err := c.api.New(t.Context(), anthropic.BetaMemoryStoreNewParams{Name: "conformance"})
	require.NoError(t, err)
	t.Cleanup(func() {
		r := c.raw(t, http.MethodDelete, "/v1/memory_stores/"+st.ID, "")
		require.Contains(t, []int{http.StatusOK, http.StatusNotFound}, r.status)
	})
	return st.ID
}

func (c *client) create(t *testing.T, path, content string) *memory {
	t.Helper()
	m, err := c.api.Memories.New(t.Context(), c.store, newParams{Path: path, Content: anthropic.String(content)})
	require.NoError(t, err)
	return m
}

func (c *client) createAll(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		c.create(t, path, path)
	}
}

func (c *client) get(t *testing.T, id string) *memory {
	t.Helper()
	m, err := c.api.Memories.Get(t.Context(), id, getParams{MemoryStoreID: c.store})
	require.NoError(t, err)
	return m
}

func (c *client) update(t *testing.T, id string, p editParams) (*memory, error) {
	t.Helper()
	p.MemoryStoreID = c.store
	return c.api.Memories.Update(t.Context(), id, p)
}

func (c *client) delete(t *testing.T, id string) {
	t.Helper()
	_, err := c.api.Memories.Delete(t.Context(), id, dropParams{MemoryStoreID: c.store})
	require.NoError(t, err)
}

// list follows all pages.
func (c *client) list(t *testing.T, p listParams) []listItem {
	t.Helper()
	return drain(t, c.api.Memories.ListAutoPaging(t.Context(), c.store, p))
}

// history follows all pages.
func (c *client) history(t *testing.T, p histParams) []version {
	t.Helper()
	return drain(t, c.api.MemoryVersions.ListAutoPaging(t.Context(), c.store, p))
}

func drain[T any](t *testing.T, pager *pagination.PageCursorAutoPager[T]) []T {
	t.Helper()
	var all []T
	for pager.Next() {
		all = append(all, pager.Current())
	}
	require.NoError(t, pager.Err())
	return all
}

func paths(items []listItem) []string {
	out := make([]string, 0, len(items))
	for _, i := range items {
		out = append(out, i.Path)
	}
	return out
}

// expect is a precondition on a content.
func expect(content string) anthropic.BetaManagedAgentsPreconditionParam {
	return anthropic.BetaManagedAgentsPreconditionParam{ContentSha256: anthropic.String(sha(content))}
}

func sha(content string) string { return store.Hash([]byte(content)).String() }

// requireFailure asserts the API's error and returns the fields of its body.
func requireFailure(t *testing.T, err error, status int, kind string) failure {
	t.Helper()
	var answer *anthropic.Error
	require.ErrorAsf(t, err, &answer, "want %d %s, got %v", status, kind, err)
	require.Equal(t, status, answer.StatusCode, answer.RawJSON())
	require.EqualValues(t, kind, answer.Type())
	var body struct{ Error failure }
	require.NoError(t, json.Unmarshal([]byte(answer.RawJSON()), &body))
	return body.Error
}

type failure struct {
	Type     string  `json:"type"`
	Message  string  `json:"message"`
	MemoryID *string `json:"conflicting_memory_id"`
	Path     *string `json:"conflicting_path"`
}

// rawAnswer is an answer read without the SDK.
type rawAnswer struct {
	status int
	header http.Header
	text   string
	body   struct {
		Type      string
		Error     failure
		RequestID string `json:"request_id"`
		ID        string
	}
}

// raw makes a request by hand. Headers are name, value pairs that replace the
// usual ones; an empty value leaves a header out.
func (c *client) raw(t *testing.T, method, path, body string, headers ...string) rawAnswer {
	t.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("anthropic-beta", "agent-memory-2026-07-22")
	r.Header.Set("Authorization", "Bearer "+c.key)
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	out := rawAnswer{status: answer.StatusCode, header: answer.Header, text: string(text)}
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &out.body), out.text)
	}
	return out
}

// memories is the path of the store's memories, for raw requests.
func (c *client) memories() string { return "/v1/memory_stores/" + c.store + "/memories" }

// versions is the path of the store's versions, for raw requests.
func (c *client) versions() string { return "/v1/memory_stores/" + c.store + "/memory_versions" }

func (a rawAnswer) requireInvalid(t *testing.T) {
	t.Helper()
	require.Equal(t, http.StatusBadRequest, a.status, a.text)
	require.Equal(t, "invalid_request_error", a.body.Error.Type)
}
