package claude_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
)

// answering answers every request with the same status and body.
type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1, Request: r}, nil
}

// known reports whether an error is one of package store's kinds.
func known(err error) bool {
	var limited *store.RateLimitedError
	var taken *store.PathConflictError
	for _, kind := range []error{store.ErrNotFound, store.ErrPrecondition, store.ErrConflict, store.ErrTooLarge, store.ErrInvalid, store.ErrFull,
		store.ErrArchived, store.ErrUnauthorized, store.ErrUnavailable, store.ErrProtocol} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return errors.As(err, &limited) || errors.As(err, &taken)
}

// FuzzAnswers has the API answer anything. What is believed of it holds to the
// contract, and what is not is an error of a kind.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{`{"data":[],"next_page":null}`, `null`, `[]`, ``, `{"data":[{}]}`, `{"error":{"type":"not_found_error"}}`} {
		f.Add(200, body)
		f.Add(409, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		api, err := claude.New(claude.Config{BaseURL: "http://memfs.invalid", Credential: credential, HTTPClient: &http.Client{Transport: answering{status, body}}})
		require.NoError(t, err)
		defer api.Close()
		for name, call := range calls(api.Store(storeID)) {
			if err := call(t.Context()); err != nil {
				require.True(t, known(err), "%s: %v", name, err)
			}
		}
		c := api.Reader(storeID)
		if page, err := c.List(t.Context(), store.ListQuery{Full: true}); err == nil {
			for _, m := range page.Memories {
				sound(t, m)
				require.Equal(t, m.SHA, store.Hash(m.Content))
				require.EqualValues(t, len(m.Content), m.Size)
			}
		}
		if page, err := c.List(t.Context(), store.ListQuery{}); err == nil {
			for _, m := range page.Memories {
				sound(t, m)
			}
		}
		if m, err := c.Get(t.Context(), "mem_1"); err == nil {
			sound(t, m)
			require.Equal(t, "mem_1", m.ID)
		}
		if page, err := c.Versions(t.Context(), store.VersionQuery{}); err == nil {
			for _, v := range page.Versions {
				require.NotEmpty(t, v.ID)
				require.NotEmpty(t, v.MemoryID)
				require.False(t, v.CreatedAt.IsZero())
				require.True(t, v.Redacted() || v.Path != "")
				require.GreaterOrEqual(t, v.Size, int64(0))
			}
		}
		_, _ = api.Stores(t.Context())
		if all, err := api.SessionStores(t.Context(), "sesn_1"); err == nil {
			for _, a := range all {
				require.NotEmpty(t, a.StoreID)
				require.NotContains(t, a.MountPath, "..")
				require.True(t, a.MountPath == "" || strings.HasPrefix(a.MountPath, "/"))
				require.NotEqual(t, "/", a.MountPath)
			}
		}
	})
}

// sound checks what is promised of every memory. Its path need not be legal.
func sound(t *testing.T, m store.Memory) {
	require.NotEmpty(t, m.ID)
	require.NotContains(t, m.ID, "/")
	require.NotEmpty(t, m.VersionID)
	require.NotEmpty(t, m.Path)
	require.False(t, m.SHA.IsZero())
	require.GreaterOrEqual(t, m.Size, int64(0))
	require.Equal(t, m.Size == 0, m.SHA == store.Hash(nil))
}
