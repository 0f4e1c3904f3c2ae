package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestSHA(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	h := store.Hash(nil)
	require.Equal(t, empty, h.String())
	require.False(t, h.IsZero())
	require.True(t, store.SHA{}.IsZero())
	parsed, err := store.ParseSHA(empty)
	require.NoError(t, err)
	require.Equal(t, h, parsed)
	for _, bad := range []string{"", "beef", empty[1:], empty + "0", strings.Repeat("g", 64)} {
		_, err := store.ParseSHA(bad)
		require.Error(t, err, bad)
	}
}

func TestRetryAfterAndTransient(t *testing.T) {
	for _, c := range []struct {
		err       error
		after     time.Duration
		transient bool
	}{
		{&store.RateLimitedError{After: 3 * time.Second}, 3 * time.Second, true},
		{&store.RateLimitedError{}, 0, true},
		{&store.UnavailableError{Status: 529, After: time.Second}, time.Second, true},
		{&store.UnavailableError{Cause: errors.New("refused")}, 0, true},
		{store.ErrUnavailable, 0, true},
		{store.ErrConflict, 0, true},
		{store.ErrPrecondition, 0, false},
		{store.ErrNotFound, 0, false},
		{store.ErrInvalid, 0, false},
		{&store.PathConflictError{}, 0, false},
		{errors.New("other"), 0, false},
		{nil, 0, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("list: %w", err)
		}
		require.Equal(t, c.after, store.RetryAfter(err), err)
		require.Equal(t, c.transient, store.Transient(err), err)
	}
}

func TestUnavailableErrorShowsItsCause(t *testing.T) {
	cause := errors.New("connection refused")
	err := &store.UnavailableError{Cause: cause}
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, &store.UnavailableError{Status: 503}, "503")
}

func TestDerivedStates(t *testing.T) {
	require.False(t, store.Info{}.Archived())
	require.True(t, store.Info{ArchivedAt: time.Unix(1, 0)}.Archived())
	require.False(t, store.Version{}.Redacted())
	require.True(t, store.Version{RedactedAt: time.Unix(1, 0)}.Redacted())
}
