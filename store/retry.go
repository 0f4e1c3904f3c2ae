package store

import (
	"context"
	"math/rand/v2"
	"time"
)

// How patient Patiently is: 0.25, 0.5, 1 and 2 s, up to half of it more, or
// what the store asks for up to the most.
const (
	tries     = 5
	firstWait = 250 * time.Millisecond
	mostWait  = 5 * time.Second
)

// Patiently repeats what fails for a reason that passes by itself (Transient) and
// may be done twice. It is for what is done as a whole or not at all, as a listing
// of many pages, which one lost answer must not end, and for what nobody repeats
// later, as the last pass. A store that asks for more than 5 s is not waited for.
func Patiently[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	for n := range tries - 1 {
		got, err := read(ctx)
		if err == nil || !Transient(err) || ctx.Err() != nil {
			return got, err
		}
		wait := firstWait << n
		wait += rand.N(wait / 2)
		if asked := RetryAfter(err); asked > mostWait {
			return got, err
		} else if asked > wait {
			wait = asked + rand.N(wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return got, err
		}
	}
	return read(ctx)
}
