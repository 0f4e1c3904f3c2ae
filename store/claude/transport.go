package claude

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"memfs/store"
)

// How many bytes of an answer are read. JSON may spend six bytes on one byte
// of content, so a full page of the largest memories is 12 MiB at worst.
const (
	basicAnswer = 4 << 20
	fullAnswer  = 16 << 20
)

// exchange is one request and what came back, as far as the transport saw it.
type exchange struct {
	limit int64
	// status is the last answer's HTTP status; 0 when none came.
	status int
}

type exchangeKey struct{}

// send runs one call of the SDK, reads at most limit bytes of the answer and
// gives errors their kind.
func send[T any](ctx context.Context, limit int64, call func(context.Context) (*T, error)) (*T, error) {
	x := &exchange{limit: limit}
	res, err := call(context.WithValue(ctx, exchangeKey{}, x))
	if err != nil {
		return nil, x.classify(err)
	}
	if res == nil {
		return nil, fmt.Errorf("%w: the answer is null", store.ErrProtocol)
	}
	return res, nil
}

// wrapClient returns a copy of c (nil: a new client) whose transport bounds and
// records answers; wrap, unless nil, is around what carries them.
func wrapClient(c *http.Client, wrap func(http.RoundTripper) http.RoundTripper, log *zap.Logger) *http.Client {
	wrapped := http.Client{}
	if c != nil {
		wrapped = *c
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		own := t.Clone()
		own.MaxIdleConnsPerHost = 32 // hydration fetches in parallel
		wrapped.Transport = own
	}
	next := wrapped.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	if wrap != nil {
		next = wrap(next)
	}
	wrapped.Transport = &transport{next: next, log: log}
	return &wrapped
}

// transport bounds answers, refuses redirects (following one would be a second
// request, perhaps to a stranger) and logs each request.
type transport struct {
	next http.RoundTripper
	log  *zap.Logger
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	res, err := t.next.RoundTrip(req)
	fields := []zap.Field{
		zap.String("method", req.Method),
		zap.String("path", req.URL.Path),
		zap.Duration("took", time.Since(start)),
	}
	if err != nil {
		t.log.Debug("store request failed", append(fields, zap.Error(err))...)
		return nil, &store.UnavailableError{Cause: err}
	}
	t.log.Debug("store request", append(fields,
		zap.Int("status", res.StatusCode),
		zap.String("request_id", res.Header.Get("Request-Id")))...)

	limit := int64(basicAnswer)
	if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok {
		x.status, limit = res.StatusCode, x.limit
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close()
		return nil, fmt.Errorf("%w: redirected (status %d)", store.ErrProtocol, res.StatusCode)
	case res.ContentLength > limit:
		_ = res.Body.Close()
		return nil, tooLong(limit)
	}
	res.Body = Bound(res.Body, limit, maxValues)
	return res, nil
}

// CloseIdleConnections lets http.Client reach the wrapped transport's.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
