package store

import (
	"errors"
	"fmt"
	"time"
)

// What a store can answer. Callers match with errors.Is and errors.As; the
// wrapping text is for people.
var (
	// ErrNotFound: the store, memory or version does not exist (404).
	ErrNotFound = errors.New("not found in the store")
	// ErrPrecondition: the memory's content is not what the caller expected
	// (409 memory_precondition_failed_error, 412). Its present state is not
	// part of the answer.
	ErrPrecondition = errors.New("the memory changed in the store")
	// ErrConflict: a concurrent request got in the way (409 conflict_error);
	// the same request may succeed later.
	ErrConflict = errors.New("a concurrent change got in the way")
	// ErrTooLarge: the content is over the store's limit (413).
	ErrTooLarge = errors.New("content too large for the store")
	// ErrInvalid: the store refuses this path or content for ever (400).
	ErrInvalid = errors.New("refused by the store")
	// ErrUnfit is ErrInvalid that is certainly for the content (422), and not
	// for want of room.
	ErrUnfit = fmt.Errorf("%w for its content", ErrInvalid)
	// ErrFull: the store holds as many memories as it may.
	ErrFull = errors.New("the store is full")
	// ErrArchived: the store takes no creates or updates any more.
	ErrArchived = errors.New("the store is archived")
	// ErrUnauthorized: the credential is missing, unknown or not allowed here
	// (401, 402, 403).
	ErrUnauthorized = errors.New("the credential was refused")
	// ErrForbidden is ErrUnauthorized that may be for one request alone (403).
	ErrForbidden = fmt.Errorf("%w", ErrUnauthorized)
	// ErrUnavailable: no usable answer came (connection, timeout, 5xx, 529).
	// Whether a write was applied is unknown.
	ErrUnavailable = errors.New("the store is unreachable")
	// ErrReadOnly: the store is attached without the right to write.
	ErrReadOnly = errors.New("the store is attached read-only")
	// ErrProtocol: an answer does not hold to the API's contract.
	ErrProtocol = errors.New("unusable answer from the store")
)

// PathConflictError is the answer to a create or rename onto a path that is
// occupied, or that is an ancestor or descendant of one that is (409
// memory_path_conflict_error).
type PathConflictError struct {
	// ID is the memory in the way; "" when the store could not tell.
	ID string
	// Path is the blocking memory's path, as far as the store says it.
	Path string
}

func (e *PathConflictError) Error() string {
	return fmt.Sprintf("path taken in the store by %.1024q (%.80q)", e.Path, e.ID)
}

// RateLimitedError says that the store wants fewer requests (429).
type RateLimitedError struct {
	// After is how long the store asks to wait; 0 when it does not say.
	After time.Duration
}

func (e *RateLimitedError) Error() string {
	return fmt.Sprintf("rate limited by the store, retry after %s", e.After)
}

// UnavailableError is ErrUnavailable with a wait that the store asked for
// (retry-after on a 503 or 529).
type UnavailableError struct {
	// Status is the HTTP status; 0 when no answer came at all.
	Status int
	// After is how long the store asks to wait; 0 when it does not say.
	After time.Duration
	// Cause is the transport's error; nil when there was an answer.
	Cause error
}

func (e *UnavailableError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%v (%v)", ErrUnavailable, e.Cause)
	}
	return fmt.Sprintf("%v (status %d)", ErrUnavailable, e.Status)
}

// Is makes errors.Is(err, ErrUnavailable) hold.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap gives the transport's error.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// RetryAfter returns the wait that the store asked for with err, or 0.
func RetryAfter(err error) time.Duration {
	var limited *RateLimitedError
	if errors.As(err, &limited) {
		return limited.After
	}
	var unavailable *UnavailableError
	if errors.As(err, &unavailable) {
		return unavailable.After
	}
	return 0
}

// Transient reports whether the same request may succeed later without
// anybody changing anything: no answer, rate limits, concurrent changes.
func Transient(err error) bool {
	var limited *RateLimitedError
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConflict) || errors.As(err, &limited)
}
