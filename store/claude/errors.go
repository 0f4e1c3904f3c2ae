package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memfs/store"
)

// The API's error types that decide something here.
const (
	typeNotFound     = "not_found_error"
	typePathConflict = "memory_path_conflict_error"
	typePrecondition = "memory_precondition_failed_error"
)

// maxRetryAfter bounds what a server can ask for.
const maxRetryAfter = time.Hour

// apiError is the part of an error answer that memfs looks at. The message is
// left out on purpose: its wording is not part of the contract, and it may
// quote the content that was refused.
type apiError struct {
	Type            string `json:"type"`
	ConflictingID   string `json:"conflicting_memory_id"`
	ConflictingPath string `json:"conflicting_path"`
}

// classify turns what the SDK returned into the errors of package store.
func (x *exchange) classify(err error) error {
	var api *anthropic.Error
	if errors.As(err, &api) {
		var envelope struct {
			Error apiError `json:"error"`
		}
		// What is not the API's envelope has no type, and means less.
		_ = json.Unmarshal([]byte(api.RawJSON()), &envelope)
		var header http.Header
		if api.Response != nil {
			header = api.Response.Header
		}
		return refused(api.StatusCode, header, envelope.Error, time.Now())
	}
	var unavailable *store.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		return unavailable
	case errors.Is(err, store.ErrProtocol):
		return err
	case x.status >= 400:
		// The SDK could not read the error's body, or failed to get a token.
		return refused(x.status, nil, apiError{}, time.Now())
	case isContext(err):
		return &store.UnavailableError{Cause: err}
	case x.status != 0:
		// The decoder's own error may quote the answer, so it is left out.
		return fmt.Errorf("%w: status %d with a body that is not the API's JSON", store.ErrProtocol, x.status)
	default:
		// Nothing was sent: the SDK found no credential it could use, and says so
		// in a dozen lines.
		return fmt.Errorf("%w: none was found that could be sent", store.ErrUnauthorized)
	}
}

// refused maps an error answer by its status and error.type, never by its
// message. A status that a proxy in between may have made up as well (a bare
// 404, 400 or 409) is believed only with the API's envelope around it: a bare
// 404 must not look like a deleted memory, nor a bare 400 like content that
// can never be taken.
func refused(status int, header http.Header, e apiError, now time.Time) error {
	unavailable := &store.UnavailableError{Status: status, After: retryAfter(header, now)}
	switch {
	case status == http.StatusBadRequest && e.Type != "":
		return store.ErrInvalid
	case status == http.StatusUnprocessableEntity && e.Type != "":
		return store.ErrUnfit
	case status == http.StatusForbidden:
		return fmt.Errorf("%w (status %d)", store.ErrForbidden, status)
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired:
		return fmt.Errorf("%w (status %d)", store.ErrUnauthorized, status)
	case status == http.StatusNotFound && e.Type == typeNotFound:
		return store.ErrNotFound
	case status == http.StatusNotFound:
		return unavailable
	case status == http.StatusRequestTimeout:
		return unavailable
	case status == http.StatusConflict && e.Type == typePathConflict:
		return &store.PathConflictError{ID: e.ConflictingID, Path: e.ConflictingPath}
	case status == http.StatusConflict && e.Type == typePrecondition:
		return store.ErrPrecondition
	case status == http.StatusConflict:
		return store.ErrConflict
	case status == http.StatusPreconditionFailed:
		return store.ErrPrecondition
	case status == http.StatusRequestEntityTooLarge:
		return store.ErrTooLarge
	case status == http.StatusTooManyRequests:
		return &store.RateLimitedError{After: unavailable.After}
	case status == 499 || status >= 500:
		return unavailable
	default:
		return fmt.Errorf("%w: status %d", store.ErrProtocol, status)
	}
}

// retryAfter reads how long the server asks to wait: retry-after-ms, else
// retry-after in seconds or as a date. 0 means that it does not say.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return clampWait(ms / 1000)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return clampWait(seconds)
	}
	if at, err := http.ParseTime(value); err == nil {
		return clampWait(at.Sub(now).Seconds())
	}
	return 0
}

// clampWait turns seconds into a wait between nothing and maxRetryAfter.
func clampWait(seconds float64) time.Duration {
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	if seconds >= maxRetryAfter.Seconds() {
		return maxRetryAfter
	}
	return time.Duration(seconds * float64(time.Second))
}
