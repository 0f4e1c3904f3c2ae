package worker

import (
	"context"
	"io"
	"net/http"
)

// gate carries requests as long as open lasts, and cuts off those under way
// when it ends. A lost lease so ends pushes, pulls and results at once: they
// could reach a session that another worker serves.
type gate struct {
	next http.RoundTripper
	open context.Context
}

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.open.Err() != nil {
		return nil, context.Cause(g.open)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	leave := context.AfterFunc(g.open, func() { cancel(context.Cause(g.open)) })
	res, err := g.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		leave()
		cancel(nil)
		return nil, err
	}
	res.Body = &gatedBody{ReadCloser: res.Body, done: func() { leave(); cancel(nil) }}
	return res, nil
}

// gatedBody gives the gate up when it is closed.
type gatedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *gatedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
