package claude_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
	"memfs/store/claude"
)

// calls are the methods of a client; each must send one request and return the
// error it gets.
func calls(c store.Client) map[string]func(context.Context) error {
	text := []byte("hi")
	return map[string]func(context.Context) error{
		"info":     func(ctx context.Context) error { _, err := c.Info(ctx); return err },
		"list":     func(ctx context.Context) error { _, err := c.List(ctx, store.ListQuery{}); return err },
		"get":      func(ctx context.Context) error { _, err := c.Get(ctx, "mem_1"); return err },
		"versions": func(ctx context.Context) error { _, err := c.Versions(ctx, store.VersionQuery{}); return err },
		"version":  func(ctx context.Context) error { _, err := c.Version(ctx, "memver_1"); return err },
		"create":   func(ctx context.Context) error { _, err := c.Create(ctx, "/a", text); return err },
		"update": func(ctx context.Context) error {
			_, err := c.Update(ctx, "mem_1", store.Update{Content: &text, Expect: store.Hash(nil)})
			return err
		},
		"delete": func(ctx context.Context) error { return c.Delete(ctx, "mem_1", store.Hash(nil)) },
	}
}

// everyCall runs one call after the other against answer and checks that each
// sent exactly one request.
func everyCall(t *testing.T, answer http.HandlerFunc, check func(*testing.T, error)) {
	t.Helper()
	s, api := serve(t, answer)
	for name, call := range calls(api.Store(storeID)) {
		t.Run(name, func(t *testing.T) {
			before := len(s.requests())
			err := call(t.Context())
			require.Error(t, err)
			check(t, err)
			assert.Len(t, s.requests(), before+1)
			assert.NotContains(t, err.Error(), credential)
		})
	}
}

func TestFailures_OneRequestEach(t *testing.T) {
	for _, c := range []struct {
		status int
		kind   string
		want   error
	}{
		{401, "authentication_error", store.ErrUnauthorized},
		{404, "not_found_error", store.ErrNotFound},
		{409, "memory_precondition_failed_error", store.ErrPrecondition},
		{409, "conflict_error", store.ErrConflict},
		{500, "api_error", store.ErrUnavailable},
		{529, "overloaded_error", store.ErrUnavailable},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			everyCall(t, always(c.status, fault(c.kind)), func(t *testing.T, err error) { assert.ErrorIs(t, err, c.want) })
		})
	}
}

func TestRateLimit_KeepsTheWait(t *testing.T) {
	everyCall(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		reply(w, 429, fault("rate_limit_error"))
	}, func(t *testing.T, err error) {
		var limited *store.RateLimitedError
		require.ErrorAs(t, err, &limited)
		assert.Equal(t, 7*time.Second, limited.After)
		assert.True(t, store.Transient(err))
	})
}

func TestUnusableAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>welcome, please log in</html>")
		},
		"cut JSON": rawJSON(`{"data":[{"id":"mem_1","content":"secret`),
		"array":    rawJSON(`[]`),
		"null":     rawJSON(`null`),
		"no body":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, api := serve(t, answer)
			for call, f := range calls(api.Store(storeID)) {
				err := f(t.Context())
				require.ErrorIs(t, err, store.ErrProtocol, call)
				assert.NotContains(t, err.Error(), "secret")
			}
		})
	}
}

func rawJSON(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func TestListings_WithoutDataAreNoListings(t *testing.T) {
	for _, text := range []string{`null`, `[]`, `{}`, `{"next_page":null}`, `{"data":null}`, `{"data":"x"}`} {
		_, api := serve(t, rawJSON(text))
		_, err := api.Store(storeID).List(t.Context(), store.ListQuery{})
		require.ErrorIs(t, err, store.ErrProtocol, text)
		_, err = api.Store(storeID).Versions(t.Context(), store.VersionQuery{})
		require.ErrorIs(t, err, store.ErrProtocol, text)
		_, err = api.Stores(t.Context())
		require.ErrorIs(t, err, store.ErrProtocol, text)
	}
}

func TestHugeAnswers_AreNotRead(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprintf("chunked=%v", chunked), func(t *testing.T) {
			var sent atomic.Int64
			everyCall(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				const size = 64 << 20
				if !chunked {
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				block := []byte(strings.Repeat(" ", 1<<16))
				for range size / len(block) {
					n, err := w.Write(block)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			}, func(t *testing.T, err error) { assert.ErrorIs(t, err, store.ErrProtocol) })
			assert.Less(t, sent.Load(), int64(8*32<<20), "the server could not send it all")
		})
	}
}

func TestFullPage_OfTheLargestMemoriesFits(t *testing.T) {
	content := strings.Repeat("\x01", store.MaxContent) // six bytes of JSON for each byte
	items := make([]object, store.MaxFullPage)
	for i := range items {
		items[i] = memory(fmt.Sprintf("mem_%d", i), fmt.Sprintf("/%d", i), content, true)
	}
	_, api := serve(t, always(200, page(nil, items...)))
	got, err := api.Reader(storeID).List(t.Context(), store.ListQuery{Full: true})
	require.NoError(t, err)
	assert.Len(t, got.Memories, store.MaxFullPage)
}

func TestConnection_LostAnswerIsUnavailable(t *testing.T) {
	everyCall(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}, func(t *testing.T, err error) {
		assert.ErrorIs(t, err, store.ErrUnavailable)
		assert.NotErrorIs(t, err, store.ErrUnauthorized)
	})
}

func TestConnection_CutBodyIsUnavailable(t *testing.T) {
	everyCall(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"data":[`)
	}, func(t *testing.T, err error) { assert.ErrorIs(t, err, store.ErrUnavailable) })
}

func TestConnection_Refused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	api := connect(t, claude.Config{BaseURL: "http://" + l.Addr().String(), Credential: credential})
	for name, call := range calls(api.Store(storeID)) {
		err := call(t.Context())
		require.ErrorIs(t, err, store.ErrUnavailable, name)
		assert.Contains(t, err.Error(), l.Addr().String(), "the address helps")
		assert.NotContains(t, err.Error(), "\n")
	}
}

// stall answers nothing until the client is gone, which a server notices only
// once it has read the body.
func stall(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestContext_CancelEndsTheCall(t *testing.T) {
	s, api := serve(t, stall)
	for name, call := range calls(api.Store(storeID)) {
		before := len(s.requests())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- call(ctx) }()
		require.Eventually(t, func() bool { return len(s.requests()) > before }, time.Minute, time.Millisecond)
		cancel()
		err := <-done
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, store.ErrUnavailable, "the outcome is unknown")
	}
}

func TestTimeout_BoundsEachRequest(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(stall))
	t.Cleanup(srv.Close)
	api := connect(t, claude.Config{BaseURL: srv.URL, Credential: credential, Timeout: 20 * time.Millisecond})
	err := calls(api.Store(storeID))["update"](t.Context())
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// leaky is a transport whose errors quote everything it saw, as a careless
// proxy might.
type leaky struct{}

func (leaky) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("broken pipe") }

func TestR19_NoCredentialOrContentInErrorsOrLogs(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	const secret = "the text of a memory"
	s := &script{answer: func(w http.ResponseWriter, r *http.Request) {
		body := fault("invalid_request_error")
		body["error"].(object)["message"] = secret + r.Header.Get("Authorization")
		if r.Method == http.MethodGet {
			reply(w, 500, body)
			return
		}
		reply(w, 400, body)
	}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	for _, c := range []claude.Config{
		{BaseURL: srv.URL, Credential: credential, Log: zap.New(core)},
		{BaseURL: srv.URL, Credential: credential, Log: zap.New(core), HTTPClient: &http.Client{Transport: leaky{}}},
	} {
		client := connect(t, c).Store(storeID)
		for _, call := range calls(client) {
			err := call(t.Context())
			require.Error(t, err)
			assert.NotContains(t, err.Error(), credential)
			assert.NotContains(t, err.Error(), secret)
		}
		_, err := client.Create(t.Context(), "/a", []byte(secret))
		require.Error(t, err)
		_, err = client.List(t.Context(), store.ListQuery{Prefix: "/" + secret + "/"})
		require.Error(t, err)
	}
	require.NotEmpty(t, logs.All())
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	for _, entry := range logs.All() {
		line, err := encoder.EncodeEntry(entry.Entry, entry.Context)
		require.NoError(t, err)
		assert.NotContains(t, line.String(), credential)
		assert.NotContains(t, line.String(), secret)
	}
}

// R14: an answer of few bytes and many values would take gigabytes to decode.
func TestR14_AnswersOfManyValues(t *testing.T) {
	for name, body := range map[string]string{
		"numbers": `{"data":[` + strings.Repeat("0,", 1_000_000) + `0]}`,
		"objects": `{"data":[` + strings.Repeat(`{},`, 1_000_000) + `{}]}`,
		"keys":    `{` + strings.Repeat(`"":0,`, 500_000) + `"data":[]}`,
		"arrays":  `{"data":` + strings.Repeat("[", 3<<20),
	} {
		t.Run(name, func(t *testing.T) {
			everyCall(t, rawJSON(body), func(t *testing.T, err error) { assert.ErrorIs(t, err, store.ErrProtocol) })
		})
	}
	text := strings.Repeat(`,[{\"`, 10_000) // no values, but one text
	body := io.NopCloser(strings.NewReader(`{"content":"` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`) + `"}`))
	_, err := io.ReadAll(claude.Bound(body, 1<<20, 10))
	assert.NoError(t, err)
}
