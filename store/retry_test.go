package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPatiently(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails []error // before it succeeds
		err   error
		calls int
		least time.Duration
	}{
		{"at once", nil, nil, 1, 0},
		{"after lost answers", []error{ErrUnavailable, &UnavailableError{Status: 529}}, nil, 3, 750 * time.Millisecond},
		{"as asked", []error{&RateLimitedError{After: 4 * time.Second}}, nil, 2, 4 * time.Second},
		{"asked too much", []error{&RateLimitedError{After: time.Minute}}, &RateLimitedError{After: time.Minute}, 1, 0},
		{"for ever", []error{ErrNotFound}, ErrNotFound, 1, 0},
		{"an outage", []error{ErrUnavailable, ErrUnavailable, ErrUnavailable, ErrUnavailable, ErrUnavailable}, ErrUnavailable, 5, 3750 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				got, err := Patiently(t.Context(), func(context.Context) (string, error) {
					calls++
					if calls <= len(c.fails) {
						return "", c.fails[calls-1]
					}
					return "text", nil
				})
				assert.Equal(t, c.err, err)
				assert.Equal(t, c.err == nil, got == "text")
				assert.Equal(t, c.calls, calls)
				assert.GreaterOrEqual(t, time.Since(began), c.least)
				assert.LessOrEqual(t, time.Since(began), 20*time.Second)
			})
		})
	}
}

func TestPatientlyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Patiently(ctx, func(context.Context) (int, error) { return 0, ErrUnavailable })
		assert.ErrorIs(t, err, ErrUnavailable)
	})
}
