package reconcile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestLoop_PassesOnTheInterval(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.o.Interval = 5 * time.Second }, func(b *bench) {
		stop := b.background(b.rec.Run)
		defer stop()
		began := time.Now()
		b.put("/f", "theirs")
		b.write("/g", "mine")
		time.Sleep(4900 * time.Millisecond)
		require.Empty(t, b.called(), "not before the interval is over")
		require.Equal(t, began.Add(5*time.Second), b.rec.Status().Next)
		time.Sleep(200 * time.Millisecond)
		require.Equal(t, map[string]string{"/f": "theirs", "/g": "mine"}, b.texts())
		require.Equal(t, "theirs", b.read("/f"))
		b.called()
		time.Sleep(50 * time.Second)
		require.Len(t, b.called(), 10, "one request for each idle pass")
		require.Empty(t, b.rec.Status().Error)
		total := b.rec.Status().Total
		require.Equal(t, Totals{Passes: 11, Pushed: 1, Pulled: 1, Requests: total.Requests}, total)
		require.GreaterOrEqual(t, total.Requests, int64(13), "those at attach and the changes' count too")
	})
}

func TestLoop_SyncBeginsAfterTheCall(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		stop := b.background(b.rec.Run)
		defer stop()
		release := make(chan struct{})
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "versions") {
				<-release
			}
			return nil
		}, nil)
		time.Sleep(16 * time.Second) // a timed pass is going on
		b.write("/f", "just written")
		time.AfterFunc(5*time.Second, func() { close(release) })
		b.sync()
		require.Equal(t, map[string]string{"/f": "just written"}, b.texts())

		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		b.rec.pass <- struct{}{}
		_, err := b.rec.Sync(ctx, false)
		require.ErrorIs(t, err, context.DeadlineExceeded, "whoever waits can give up")
		<-b.rec.pass
	})
}

func TestR14_BackoffIsBoundedAndSaidOnce(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.o.Interval = time.Second }, func(b *bench) {
		var at []time.Time
		b.hook(func(string) error { at = append(at, time.Now()); return errNoAnswer }, nil)
		stop := b.background(b.rec.Run)
		b.write("/f", "mine")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Greater(t, len(at), 9)
		require.Less(t, len(at), 25)
		for i := 1; i < len(at); i++ {
			gap := at[i].Sub(at[i-1])
			require.LessOrEqual(t, gap, maxBackoff)
			if i > 6 {
				require.GreaterOrEqual(t, gap, maxBackoff*3/4)
			}
		}
		require.Equal(t, len(at), b.rec.Status().Failures)
		require.Equal(t, "mine", b.read("/f"))
		b.hook(nil, nil)
		time.Sleep(40 * time.Second)
		require.Equal(t, map[string]string{"/f": "mine"}, b.texts())
		require.Zero(t, b.rec.Status().Failures)
		stop()
		require.Equal(t, 2, b.warned("unreachable"), "one line, and a count when it is over")
		over := b.logs.FilterMessageSnippet("the fault is over").All()
		require.Len(t, over, 1)
		require.Equal(t, int64(len(at)), over[0].ContextMap()["passes"])
	})
}

func TestR14_RetryAfterIsHonoured(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.o.Interval = time.Second }, func(b *bench) {
		var at []time.Time
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "update") {
				at = append(at, time.Now())
				if len(at) == 1 {
					return &store.RateLimitedError{After: 100 * time.Second}
				}
			}
			return nil
		}, nil)
		b.write("/f", "mine")
		stop := b.background(b.rec.Run)
		defer stop()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		require.Len(t, at, 2)
		require.GreaterOrEqual(t, at[1].Sub(at[0]), 100*time.Second)
		require.Equal(t, map[string]string{"/f": "mine"}, b.texts())
	})
}

// R14: a store that asked for an hour, and answers a person before it is over,
// is well again.
func TestR14_ASyncThatSucceedsEndsTheBackoff(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.o.Interval = time.Second }, func(b *bench) {
		b.hook(func(string) error { return &store.RateLimitedError{After: time.Hour} }, nil)
		stop := b.background(b.rec.Run)
		defer stop()
		time.Sleep(3 * time.Second)
		require.Greater(t, time.Until(b.rec.Status().Next), 50*time.Minute)
		b.hook(nil, nil)
		b.sync()
		b.put("/f", "theirs")
		time.Sleep(3 * time.Second)
		require.Equal(t, "theirs", b.read("/f"))
	})
}

func TestLoop_NudgeBringsThePassForward(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.o.Interval = time.Minute }, func(b *bench) {
		stop := b.background(b.rec.Run)
		defer stop()
		b.put("/f", "theirs")
		b.rec.Nudge()
		b.rec.Nudge()
		time.Sleep(MinInterval + time.Millisecond)
		require.Equal(t, "theirs", b.read("/f"))
	})
}

func TestLoop_StopCutsRequestsOff(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.write("/f", "mine")
		var cut error
		b.before = func(call string) error { return nil }
		blocked := &blocking{fake: b.fake, cut: &cut}
		rec := New(b.rep, blocked, b.o)
		require.NoError(t, rec.Attach(b.Context()))
		stop := b.background(rec.Run)
		time.Sleep(20 * time.Second)
		stop()
		require.ErrorIs(t, cut, context.Canceled)
		report, err := rec.Final(b.Context())
		require.NoError(t, err)
		require.Empty(t, report.Unsent)
		require.Equal(t, map[string]string{"/f": "mine"}, b.texts())
	})
}

// blocking answers the first update only when it is cut off.
type blocking struct {
	*fake
	cut *error
}

func (s *blocking) Update(ctx context.Context, id string, u store.Update) (store.Memory, error) {
	if *s.cut == nil {
		<-ctx.Done()
		*s.cut = ctx.Err()
		return store.Memory{}, &store.UnavailableError{Cause: ctx.Err()}
	}
	return s.fake.Update(ctx, id, u)
}

func TestR14_ARequestIsBoundedInTime(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.write("/f", "mine")
		var cut error
		rec := New(b.rep, &blocking{fake: b.fake, cut: &cut}, b.o)
		require.NoError(t, rec.Attach(b.Context()))
		began := time.Now()
		_, err := rec.Sync(b.Context(), false)
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.Equal(t, requestTimeout, time.Since(began))
	})
}

func TestR1_Hydrate(t *testing.T) {
	withBench(t, func(b *bench) {
		b.o.NoHydrate = false
		for i := range 60 {
			b.put(fmt.Sprintf("/many/%d", i), fmt.Sprint("text ", i))
		}
		b.put("/top", "top")
	}, func(b *bench) {
		require.Len(t, b.rep.Unfetched(0), 61)
		stop := b.background(b.rec.Run)
		time.Sleep(time.Second)
		require.Empty(t, b.rep.Unfetched(0))
		calls := b.called()
		require.Len(t, calls, 4, "full pages where that is fewer requests: %v", calls)
		b.put("/many/1", "edited")
		time.Sleep(time.Minute)
		require.Empty(t, b.rep.Unfetched(0))
		require.Contains(t, b.called(), "get "+b.id("/many/1"))
		b.put("/many/new", "new")
		time.Sleep(time.Minute)
		require.Empty(t, b.rep.Unfetched(0), "few are fetched one by one")
		stop()
		b.hook(func(call string) error { return errNoAnswer }, nil)
		require.Len(t, b.tree(), 62, "all can be read without the store")
	})
}

func TestR2_Fetcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		f := newFake()
		id := f.put("/f", "v0")
		version, sha := f.memories[id].VersionID, f.memories[id].SHA
		fetch := Fetcher(f)
		text, err := fetch(ctx, id, version, sha)
		require.NoError(t, err)
		require.Equal(t, "v0", string(text))

		f.put("/f", "v1")
		text, err = fetch(ctx, id, version, sha)
		require.NoError(t, err, "an old content comes from its version")
		require.Equal(t, "v0", string(text))

		f.drop("/f")
		text, err = fetch(ctx, id, version, sha)
		require.NoError(t, err)
		require.Equal(t, "v0", string(text))

		_, err = fetch(ctx, id, version, store.Hash([]byte("never")))
		require.ErrorIs(t, err, store.ErrNotFound)
		f.versions = nil
		_, err = fetch(ctx, id, version, sha)
		require.ErrorIs(t, err, store.ErrNotFound)
		f.hook(func(string) error { return errNoAnswer }, nil)
		_, err = fetch(ctx, id, version, sha)
		require.ErrorIs(t, err, store.ErrUnavailable)
	})
}
