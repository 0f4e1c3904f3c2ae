package local

import (
	"errors"
	"fmt"
	"net/http"

	"memfs/store"
)

var (
	// errTooLarge: the body of a request is larger than any legal one.
	errTooLarge = errors.New("request body too large")
	// errForbidden: the credential is good, but not for this object.
	errForbidden = errors.New("not permitted")
)

// failure is an error as the API writes it.
type failure struct {
	status   int
	Type     string  `json:"type"`
	Message  string  `json:"message"`
	MemoryID *string `json:"conflicting_memory_id,omitzero"`
	Path     *string `json:"conflicting_path,omitzero"`
	Details  any     `json:"details,omitzero"`
}

// envelope is the body of an answer that is not a success.
type envelope struct {
	Type      string  `json:"type"`
	Error     failure `json:"error"`
	RequestID string  `json:"request_id"`
}

// invalid is a request that can never succeed.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}

// unknown is an id that does not exist; kind is the object's name in the API.
func unknown(kind, id string) error {
	return fmt.Errorf("%w: no %s %q", store.ErrNotFound, kind, id)
}

// failureOf says how the API reports err. It is the only place where errors
// become statuses.
func failureOf(err error) failure {
	var taken *store.PathConflictError
	if errors.As(err, &taken) {
		return failure{
			status: http.StatusConflict, Type: "memory_path_conflict_error", Message: err.Error(),
			MemoryID: &taken.ID, Path: &taken.Path,
		}
	}
	var lost *leaseLostError
	if errors.As(err, &lost) {
		return failure{status: http.StatusPreconditionFailed, Type: "invalid_request_error", Message: err.Error(), Details: lost.details()}
	}
	for _, row := range []struct {
		err    error
		status int
		kind   string
	}{
		{store.ErrUnauthorized, http.StatusUnauthorized, "authentication_error"},
		{errForbidden, http.StatusForbidden, "permission_error"},
		{store.ErrNotFound, http.StatusNotFound, "not_found_error"},
		{store.ErrPrecondition, http.StatusConflict, "memory_precondition_failed_error"},
		{store.ErrConflict, http.StatusConflict, "conflict_error"},
		{errTooLarge, http.StatusRequestEntityTooLarge, "request_too_large"},
		{store.ErrInvalid, http.StatusBadRequest, "invalid_request_error"},
		{store.ErrPathIllegal, http.StatusBadRequest, "invalid_request_error"},
		{store.ErrPathTooLong, http.StatusBadRequest, "invalid_request_error"},
		{store.ErrNotText, http.StatusBadRequest, "invalid_request_error"},
		{store.ErrTooLarge, http.StatusBadRequest, "invalid_request_error"},
		{store.ErrFull, http.StatusBadRequest, "invalid_request_error"},
		{store.ErrArchived, http.StatusBadRequest, "invalid_request_error"},
	} {
		if errors.Is(err, row.err) {
			return failure{status: row.status, Type: row.kind, Message: err.Error()}
		}
	}
	return failure{status: http.StatusInternalServerError, Type: "api_error", Message: "the local store failed; its log says why"}
}
