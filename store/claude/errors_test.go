package claude

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestRefused_EveryStatusOfTheContract(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		status int
		kind   string
		want   error
	}{
		{"bad content or path", 400, "invalid_request_error", store.ErrInvalid},
		{"400 of a proxy", 400, "", store.ErrProtocol},
		{"no credential", 401, "authentication_error", store.ErrUnauthorized},
		{"401 of a proxy", 401, "", store.ErrUnauthorized},
		{"billing", 402, "billing_error", store.ErrUnauthorized},
		{"not allowed", 403, "permission_error", store.ErrForbidden},
		{"403 of a proxy", 403, "", store.ErrForbidden},
		{"unknown", 404, "not_found_error", store.ErrNotFound},
		{"404 of a proxy is not a deletion", 404, "", store.ErrUnavailable},
		{"404 of another kind", 404, "invalid_request_error", store.ErrUnavailable},
		{"wrong method", 405, "invalid_request_error", store.ErrProtocol},
		{"deadline", 408, "", store.ErrUnavailable},
		{"precondition", 409, "memory_precondition_failed_error", store.ErrPrecondition},
		{"concurrent", 409, "conflict_error", store.ErrConflict},
		{"concurrent, old words", 409, "invalid_request_error", store.ErrConflict},
		{"bare conflict", 409, "", store.ErrConflict},
		{"precondition as 412", 412, "invalid_request_error", store.ErrPrecondition},
		{"body too large", 413, "request_too_large", store.ErrTooLarge},
		{"body too large for a proxy", 413, "", store.ErrTooLarge},
		{"content that is not fit", 422, "invalid_request_error", store.ErrUnfit},
		{"422 of a proxy", 422, "", store.ErrProtocol},
		{"header too large", 431, "", store.ErrProtocol},
		{"client closed", 499, "", store.ErrUnavailable},
		{"broken", 500, "api_error", store.ErrUnavailable},
		{"not implemented", 501, "", store.ErrUnavailable},
		{"gateway", 502, "", store.ErrUnavailable},
		{"unavailable", 503, "api_error", store.ErrUnavailable},
		{"timeout", 504, "timeout_error", store.ErrUnavailable},
		{"overloaded", 529, "overloaded_error", store.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := refused(c.status, http.Header{}, apiError{Type: c.kind}, now)
			require.ErrorIs(t, err, c.want)
			for _, other := range []error{
				store.ErrNotFound, store.ErrPrecondition, store.ErrConflict, store.ErrTooLarge, store.ErrInvalid, store.ErrFull,
				store.ErrArchived, store.ErrUnauthorized, store.ErrUnavailable, store.ErrReadOnly, store.ErrProtocol,
			} {
				if !errors.Is(other, c.want) && !errors.Is(c.want, other) {
					assert.NotErrorIs(t, err, other)
				}
			}
		})
	}
}

func TestRefused_PathConflictNamesTheBlocker(t *testing.T) {
	for _, e := range []apiError{
		{Type: typePathConflict, ConflictingID: "mem_9", ConflictingPath: "/a"},
		{Type: typePathConflict}, // the API may not be able to tell
	} {
		var conflict *store.PathConflictError
		require.ErrorAs(t, refused(409, nil, e, time.Now()), &conflict)
		assert.Equal(t, store.PathConflictError{ID: e.ConflictingID, Path: e.ConflictingPath}, *conflict)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, seconds, ms string
		want              time.Duration
	}{
		{name: "silent"},
		{name: "seconds", seconds: "3", want: 3 * time.Second},
		{name: "fraction", seconds: "0.5", want: 500 * time.Millisecond},
		{name: "milliseconds win", seconds: "3", ms: "250", want: 250 * time.Millisecond},
		{name: "date", seconds: now.Add(90 * time.Second).Format(http.TimeFormat), want: 90 * time.Second},
		{name: "past date", seconds: now.Add(-time.Minute).Format(http.TimeFormat)},
		{name: "negative", seconds: "-4"},
		{name: "nonsense", seconds: "soon"},
		{name: "not a number", seconds: "NaN"},
		{name: "without end", seconds: "1e300", want: maxRetryAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			if c.seconds != "" {
				h.Set("Retry-After", c.seconds)
			}
			if c.ms != "" {
				h.Set("Retry-After-Ms", c.ms)
			}
			assert.Equal(t, c.want, retryAfter(h, now))
			for _, status := range []int{429, 503, 529} {
				assert.Equal(t, c.want, store.RetryAfter(refused(status, h, apiError{}, now)))
			}
		})
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"mem_01AbC-x", "memstore_1", "a.b"} {
		assert.NoError(t, checkID(id), id)
	}
	for _, id := range []string{"", ".", "..", "a/b", "a\\b", "a;b", "a?b", "a#b", "a%2fb", "a b", "a\nb", "é", string(make([]byte, 300))} {
		assert.Error(t, checkID(id), "%q", id)
	}
}
