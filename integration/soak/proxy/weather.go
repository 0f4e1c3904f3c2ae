package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Weather says how often requests meet which fault, as shares of 1. The zero
// value is none.
type Weather struct {
	// Latency is the most that an answer is delayed.
	Latency time.Duration
	// Stalled is how many wait for up to StallFor.
	Stalled  float64
	StallFor time.Duration
	// Limited get 429, Overloaded 529, Failing 500, 502 or 503.
	Limited, Overloaded, Failing float64
	// Cut are never carried out and get no answer, Lost are carried out and get
	// none, Late are carried out some seconds after the connection was cut.
	Cut, Lost, Late float64
	// Partial get the beginning of their answer.
	Partial float64
	// Lacking is how many listings lack an entry or all after it.
	Lacking float64
}

// The kinds of faults, as counted.
const (
	none    = ""
	cut     = "cut"
	lost    = "lost"
	late    = "late"
	partial = "partial"
	refused = "refused"
	lacking = "lacking"
)

// fault is what happens to one request.
type fault struct {
	kind   string
	delay  time.Duration
	after  time.Duration // until a late request is carried out
	status int
	wait   string  // retry-after
	draw   float64 // in [0, 1)
}

// lateMost is how long a cut request may still be on its way.
const lateMost = 4 * time.Second

func (p *Proxy) choose(r *http.Request) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.weather
	f := fault{draw: p.rand.Float64()}
	if w.Latency > 0 {
		f.delay = time.Duration(p.rand.Int64N(int64(w.Latency)))
	}
	if p.rand.Float64() < w.Stalled {
		f.delay += time.Duration(p.rand.Int64N(int64(w.StallFor)))
	}
	lack := w.Lacking
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/memories") && !strings.HasSuffix(r.URL.Path, "/memory_versions") {
		lack = 0
	}
	draw := p.rand.Float64()
	for _, c := range []struct {
		kind   string
		share  float64
		status int
	}{
		{cut, w.Cut, 0}, {lost, w.Lost, 0}, {late, w.Late, 0}, {partial, w.Partial, 0}, {lacking, lack, 0},
		{refused, w.Limited, http.StatusTooManyRequests}, {refused, w.Overloaded, 529},
		{refused, w.Failing, []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable}[p.rand.IntN(3)]},
	} {
		if draw -= c.share; draw < 0 {
			f.kind, f.status = c.kind, c.status
			break
		}
	}
	f.after = time.Duration(p.rand.Int64N(int64(lateMost)))
	f.wait = []string{"", "0", "1", "2"}[p.rand.IntN(4)]
	name := f.kind
	if name == refused {
		name = fmt.Sprint(f.status)
	}
	p.counts[name]++
	return f
}

// refuse answers as the API does, and 502 as what stands before it does.
func refuse(w http.ResponseWriter, f fault) {
	if f.status == http.StatusBadGateway {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.status)
		_, _ = w.Write([]byte("<html><body><h1>502 Bad Gateway</h1></body></html>"))
		return
	}
	kind := map[int]string{http.StatusTooManyRequests: "rate_limit_error", 529: "overloaded_error"}[f.status]
	if kind == "" {
		kind = "api_error"
	}
	if f.wait != "" {
		w.Header().Set("Retry-After", f.wait)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":"the weather"}}`, kind)
}

// lack takes one entry out of a page, or all pages behind it.
func lack(text []byte, draw float64) []byte {
	var page map[string]json.RawMessage
	var data []json.RawMessage
	if json.Unmarshal(text, &page) != nil || json.Unmarshal(page["data"], &data) != nil {
		return text
	}
	if next := string(page["next_page"]); next != "null" && next != "" && draw < 0.3 {
		page["next_page"] = json.RawMessage("null")
	} else if len(data) > 0 {
		at := int(draw * float64(len(data)))
		data = append(data[:at], data[at+1:]...)
	}
	var err error
	if page["data"], err = json.Marshal(data); err != nil {
		return text
	}
	out, err := json.Marshal(page)
	if err != nil {
		return text
	}
	return out
}
