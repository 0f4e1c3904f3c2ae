package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSHA(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	h := Hash(nil)
	require.Equal(t, empty, h.String())
	require.False(t, h.IsZero())
	require.True(t, SHA{}.IsZero())
	parsed, err := ParseSHA(empty)
	require.NoError(t, err)
	require.Equal(t, h, parsed)
	for _, bad := range []string{"", "beef", empty[1:], empty + "0", strings.Repeat("g", 64)} {
		_, err := ParseSHA(bad)
		require.Error(t, err, bad)
	}
}

func TestRetryAfterAndTransient(t *testing.T) {
	for _, c := range []struct {
		err       error
		after     time.Duration
		transient bool
	}{
		{&RateLimitedError{After: 3 * time.Second}, 3 * time.Second, true},
		{&RateLimitedError{}, 0, true},
		{&UnavailableError{Status: 529, After: time.Second}, time.Second, true},
		{&UnavailableError{Cause: errors.New("refused")}, 0, true},
		{ErrUnavailable, 0, true},
		{ErrConflict, 0, true},
		{ErrPrecondition, 0, false},
		{ErrNotFound, 0, false},
		{ErrInvalid, 0, false},
		{&PathConflictError{}, 0, false},
		{errors.New("other"), 0, false},
		{nil, 0, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("list: %w", err)
		}
		require.Equal(t, c.after, RetryAfter(err), err)
		require.Equal(t, c.transient, Transient(err), err)
	}
}

func TestUnavailableErrorShowsItsCause(t *testing.T) {
	cause := errors.New("connection refused")
	err := &UnavailableError{Cause: cause}
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, &UnavailableError{Status: 503}, "503")
}

func TestDerivedStates(t *testing.T) {
	require.False(t, Info{}.Archived())
	require.True(t, Info{ArchivedAt: time.Unix(1, 0)}.Archived())
	require.False(t, Version{}.Redacted())
	require.True(t, Version{RedactedAt: time.Unix(1, 0)}.Redacted())
}
