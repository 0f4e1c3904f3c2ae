package worker

import (
	"fmt"
	"mime"
	"net/http"

	"memfs/store"
	"memfs/store/claude"
)

// What one answer of the API may be at most: a page of events, with what tools
// said in it, or a skill.
const (
	maxAnswer = 64 << 20
	maxValues = 200_000
)

// bounded bounds answers, and refuses redirects: the credential is for the API
// alone. A stream of events may last; its lines are bounded where they are read.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close()
		return nil, fmt.Errorf("%w: redirected (status %d)", store.ErrProtocol, res.StatusCode)
	case kind != "text/event-stream":
		res.Body = claude.Bound(res.Body, maxAnswer, maxValues)
	}
	return res, nil
}
