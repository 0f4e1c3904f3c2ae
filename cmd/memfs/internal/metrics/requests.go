package metrics

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Transport counts the requests that go through next.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{next: next, m: m}
}

type transport struct {
	next http.RoundTripper
	m    *Metrics
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := t.next.RoundTrip(req)
	status := "none"
	if err == nil {
		status = strconv.Itoa(res.StatusCode)
		res.Body = &counted{ReadCloser: res.Body, to: t.m.requestBytes.WithLabelValues("received")}
	}
	t.m.requests.WithLabelValues(kind(req.Method, req.URL.Path), status).Observe(time.Since(began).Seconds())
	t.m.requestBytes.WithLabelValues("sent").Add(float64(max(req.ContentLength, 0)))
	return res, err
}

// CloseIdleConnections lets http.Client reach the transport below.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// counted counts what is read of an answer.
type counted struct {
	io.ReadCloser
	to prometheus.Counter
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.to.Add(float64(n))
	return n, err
}

// kind is what a request asks for, in one of a few words. Paths are
// /v1/memory_stores[/ID[/memories|memory_versions[/ID]]], below whatever the
// API's address has.
func kind(method, path string) string {
	_, rest, ok := strings.Cut(path, "/memory_stores")
	if !ok {
		return "other"
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	one := len(parts) > 2
	switch {
	case len(parts) == 1:
		return "store"
	case parts[1] == "memory_versions" && one:
		return "version"
	case parts[1] == "memory_versions":
		return "versions"
	case parts[1] != "memories":
		return "other"
	case method == http.MethodDelete:
		return "delete"
	case method == http.MethodPost && one:
		return "update"
	case method == http.MethodPost:
		return "create"
	case one:
		return "get"
	}
	return "list"
}
