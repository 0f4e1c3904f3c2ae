package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

// A create whose answer was lost is nobody's if its file goes before it is seen,
// and the store's clock may hide it from the versions query.
func TestR5_WhatWasLostOnTheWayIsFoundBehindTheClock(t *testing.T) {
	for name, c := range map[string]struct{ send, then func(b *bench) }{
		"create, and the file goes": {func(b *bench) { b.write("/new", "mine") }, func(b *bench) { b.rm("/new") }},
		"create, and it is moved":   {func(b *bench) { b.write("/new", "mine") }, func(b *bench) { b.mv("/new", "/newer") }},
		"update, and it is undone":  {func(b *bench) { b.write("/f", "v1") }, func(b *bench) { b.write("/f", "v0") }},
		"rename, and it is undone":  {func(b *bench) { b.mv("/f", "/g") }, func(b *bench) { b.mv("/g", "/f") }},
		"delete, and it is undone":  {func(b *bench) { b.rm("/f") }, func(b *bench) { b.write("/f", "v0") }},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
				c.send(b)
				b.skew = -3 * time.Minute
				b.hook(nil, func(call string) error {
					if len(changes([]string{call})) > 0 {
						return errNoAnswer
					}
					return nil
				})
				_, err := b.rec.Sync(b.Context(), true)
				require.ErrorIs(t, err, store.ErrUnavailable)
				b.hook(nil, nil)
				b.skew = 0
				c.then(b)
				want := b.tree()
				b.sync() // the last pass has no other behind it
				require.Equal(t, want, b.texts())
				b.converged()
			})
		})
	}
}

// A send that was to meet what was lost may itself not go out.
func TestR5_WhatWasLostIsDoubtedUntilTheStoreIsListed(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.write("/new", "mine")
		b.skew = -3 * time.Minute
		b.hook(nil, once("create", errNoAnswer))
		_, err := b.timed()
		require.ErrorIs(t, err, store.ErrUnavailable)
		b.skew = 0
		b.hook(once("create", &store.RateLimitedError{}), nil)
		_, err = b.timed()
		require.ErrorAs(t, err, new(*store.RateLimitedError))
		b.rm("/new")
		for range 2 {
			_, err = b.timed()
			require.NoError(t, err)
		}
		require.Empty(t, b.texts())
		b.called()
		for range 3 {
			_, err = b.timed()
			require.NoError(t, err)
		}
		require.Len(t, b.called(), 3, "it is not listed again")
	})
}

// What is doubted while the store is listed is for the next listing.
func TestR5_ADoubtOutlivesTheListingUnderWay(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/g", "v0") }, func(b *bench) {
		b.write("/new", "mine")
		release := make(chan struct{})
		b.hook(nil, func(call string) error {
			if strings.HasPrefix(call, "create") {
				<-release
			}
			return nil
		})
		b.skew = -9 * time.Minute
		_, err := b.timed()
		require.NoError(t, err)
		b.lacks = "/g"
		b.rec.learner.distrust()
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "get") {
				b.put("/theirs", "theirs")
				close(release)
				b.rec.awaitSends(b.Context())
			}
			return nil
		}, nil)
		_, err = b.timed()
		require.NoError(t, err)
		b.hook(nil, nil)
		b.lacks = ""
		_, err = b.timed()
		require.NoError(t, err)
		require.Equal(t, b.texts(), b.tree())
	})
}
