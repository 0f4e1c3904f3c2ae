package worker_test

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// request is what a worker asked of the API.
type request struct {
	at             time.Time
	method, path   string
	credential     string
	status         int
	heartbeatAfter string
}

// wire passes requests on and remembers them.
type wire struct {
	next http.Handler

	mu       sync.Mutex
	requests []request
	// before is called before a request is passed on; it may wait.
	before func(*http.Request)
	// answered answers requests itself, where it reports true; nil passes all on.
	answered func(http.ResponseWriter, *http.Request) bool
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	before, answered := w.before, w.answered
	w.mu.Unlock()
	if answered != nil && answered(rw, r) {
		return
	}
	if before != nil {
		before(r)
	}
	sr := &statusWriter{ResponseWriter: rw, status: http.StatusOK}
	w.next.ServeHTTP(sr, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, request{
		at: time.Now(), method: r.Method, path: r.URL.Path, credential: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), status: sr.status,
		heartbeatAfter: r.URL.Query().Get("expected_last_heartbeat"),
	})
}

func (w *wire) hold(before func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

// answer has requests answered by f, where that reports true.
func (w *wire) answer(f func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered = f
}

// refuse answers requests for paths that end so with a status.
func (w *wire) refuse(suffix string, status int) {
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		refused := strings.HasSuffix(r.URL.Path, suffix)
		if refused {
			http.Error(rw, "{}", status)
		}
		return refused
	})
}

// seen are the requests so far whose path ends in suffix.
func (w *wire) seen(method, suffix string) []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []request
	for _, r := range w.requests {
		if r.method == method && strings.HasSuffix(r.path, suffix) {
			found = append(found, r)
		}
	}
	return found
}

// writes are requests that change memories, with a sessions token.
func (w *wire) writes() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []request
	for _, r := range w.requests {
		if r.method != http.MethodGet && strings.Contains(r.path, "/memories") && strings.HasPrefix(r.credential, "sk-ant-req-") {
			found = append(found, r)
		}
	}
	return found
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
