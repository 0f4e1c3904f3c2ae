package reconcile

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestR1_HydrateOffFetchesNothing(t *testing.T) {
	withBench(t, func(b *bench) {
		b.o.NoHydrate = true
		for i := range 60 {
			b.put(fmt.Sprintf("/many/%d", i), fmt.Sprint("text ", i))
		}
	}, func(b *bench) {
		stop := b.background(b.rec.Run)
		defer stop()
		time.Sleep(time.Minute)
		b.put("/many/new", "new")
		time.Sleep(time.Minute)
		require.Len(t, b.rep.Unfetched(0), 61)
		require.Equal(t, "text 7", b.read("/many/7"), "what is read is fetched")
		require.Len(t, b.rep.Unfetched(0), 60)
	})
}

func TestR1_HydrateIsInNobodysWay(t *testing.T) {
	const dirs = 30
	withBench(t, func(b *bench) {
		b.o.NoHydrate = false
		for i := range dirs * store.MaxFullPage {
			b.put(fmt.Sprintf("/d%d/%d", i%dirs, i), fmt.Sprint("text ", i))
		}
	}, func(b *bench) {
		var going, most, asked atomic.Int64
		b.hook(func(string) error {
			asked.Add(1)
			if now := going.Add(1); now > most.Load() {
				most.Store(now)
			}
			time.Sleep(100 * time.Millisecond)
			going.Add(-1)
			return nil
		}, nil)
		stop := b.background(b.rec.Run)
		defer stop()
		time.Sleep(5 * time.Second)
		require.Empty(t, b.rep.Unfetched(0))
		require.EqualValues(t, dirs, asked.Load())
		require.EqualValues(t, hydrators, most.Load(), "requests at once")
	})
}

// The contents of a small store are one request, however many directories it
// has.
func TestR1_ASmallStoreIsHydratedAtOnce(t *testing.T) {
	withBench(t, func(b *bench) {
		b.o.NoHydrate = false
		for i := range store.MaxFullPage {
			b.put(fmt.Sprintf("/d%d/a", i), fmt.Sprint("text ", i))
		}
	}, func(b *bench) {
		stop := b.background(b.rec.Run)
		defer stop()
		time.Sleep(5 * time.Second)
		require.Empty(t, b.rep.Unfetched(0))
		require.Equal(t, "text 7", b.read("/d7/a"))
		require.Len(t, b.fake.called(), 1)
	})
}

// A store that is out for a while, or busy for a moment, delays the background
// fetching and does not end it.
func TestR1_HydrateGoesOnAfterAnOutage(t *testing.T) {
	for name, out := range map[string]time.Duration{"moment": 2 * time.Second, "outage": 3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(b *bench) {
				b.o.NoHydrate = false
				for i := range 60 {
					b.put(fmt.Sprintf("/many/%d", i), fmt.Sprint("text ", i))
				}
				b.put("/few/1", "text")
			}, func(b *bench) {
				began := time.Now()
				var asked atomic.Int64
				b.hook(func(string) error {
					if time.Since(began) >= out {
						return nil
					}
					asked.Add(1)
					return &store.UnavailableError{Status: 529}
				}, nil)
				stop := b.background(b.rec.Run)
				defer stop()
				time.Sleep(out + maxBackoff + 10*time.Second)
				require.Empty(t, b.rep.Unfetched(0))
				require.Less(t, asked.Load(), 20+int64(out.Seconds()), "and few requests meanwhile")
			})
		})
	}
}
