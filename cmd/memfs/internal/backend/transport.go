package backend

import (
	"bytes"
	"io"
	"net/http"
)

// transport carries requests to a handler of the same process.
type transport struct{ handler http.Handler }

// InProcess is a client of a handler of the same process.
func InProcess(handler http.Handler) *http.Client {
	return &http.Client{Transport: transport{handler}}
}

// RoundTrip implements http.RoundTripper. The answer is complete when it
// returns.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	served := r.Clone(r.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	defer func() { _ = served.Body.Close() }()
	a := &answer{status: http.StatusOK, header: http.Header{}}
	t.handler.ServeHTTP(a, served)
	return &http.Response{
		Status:        http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(&a.body),
		ContentLength: int64(a.body.Len()),
		Request:       r,
	}, nil
}

// answer is an http.ResponseWriter that keeps what it is given.
type answer struct {
	header  http.Header
	status  int
	written bool
	body    bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.written {
		a.written, a.status = true, status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.written = true
	return a.body.Write(p)
}
