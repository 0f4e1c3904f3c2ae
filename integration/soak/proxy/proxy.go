// Package proxy stands between a mount and the store's API, and does to requests
// and answers what networks and servers do: it delays, refuses, cuts and loses
// them, and lists what is not all.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Proxy passes requests on. It is safe for concurrent use.
type Proxy struct {
	next  http.Handler
	trace io.Writer

	mu      sync.Mutex
	rand    *rand.Rand
	weather Weather
	counts  map[string]int

	late sync.WaitGroup // requests that are carried out without an answer
}

// New makes a proxy in front of next, in clear weather. The same seed makes the
// same choices for the same requests. trace gets a line a request.
func New(next http.Handler, seed uint64, trace io.Writer) *Proxy {
	return &Proxy{next: next, trace: trace, rand: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}}
}

// Set changes the weather.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
}

// Clear ends all faults and waits until requests that are late were carried out.
func (p *Proxy) Clear() {
	p.Set(Weather{})
	p.late.Wait()
}

// Counts are how many requests met which fault, "" being those that met none.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// ServeHTTP is http.Handler's.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	f := p.choose(r)
	began := time.Now()
	p.wait(r.Context(), f.delay)
	status := 0
	defer func() {
		_, _ = fmt.Fprintf(p.trace, "%s %s %s %s %d %s %v %s\n", began.Format(time.TimeOnly+".000"), r.Header.Get("Authorization"), r.Method, r.URL.RequestURI(),
			status, f.kind, time.Since(began).Round(time.Millisecond), pathOf(body))
	}()
	switch f.kind {
	case cut:
		panic(http.ErrAbortHandler)
	case late:
		p.late.Go(func() {
			p.wait(context.Background(), f.after)
			p.pass(r, body)
		})
		panic(http.ErrAbortHandler)
	case refused:
		status = f.status
		refuse(w, f)
		return
	}
	answer := p.pass(r, body)
	status = answer.Code
	if f.kind == lost {
		panic(http.ErrAbortHandler)
	}
	text := answer.Body.Bytes()
	if f.kind == lacking {
		text = lack(text, f.draw)
	}
	maps.Copy(w.Header(), answer.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(answer.Code)
	if f.kind == partial {
		_, _ = w.Write(text[:int(f.draw*float64(len(text)))])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(text) // fails when the client is gone
}

// pass has the request carried out, also where the client is gone.
func (p *Proxy) pass(r *http.Request, body []byte) *httptest.ResponseRecorder {
	whole := r.Clone(context.WithoutCancel(r.Context()))
	whole.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	p.next.ServeHTTP(answer, whole)
	return answer
}

func (p *Proxy) wait(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// pathOf is the path that a request speaks of.
func pathOf(body []byte) string {
	var asked struct{ Path string }
	_ = json.Unmarshal(body, &asked) // "" where there is none
	return asked.Path
}
