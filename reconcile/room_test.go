package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

// pass is a timed pass; what the store answers to some of its requests may be
// an error.
func (b *bench) pass() Report {
	report, _ := b.timed() // its error is about those
	return report
}

func TestR11_OneThatFailsDoesNotTakeTheProbeOfAllOthers(t *testing.T) {
	for name, failure := range map[string]error{
		"500":               &store.UnavailableError{Status: 500},
		"an unknown status": store.ErrProtocol,
		"busy":              store.ErrConflict,
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, nil, func(b *bench) {
				b.hook(func(call string) error {
					if call == "create /failing" {
						return failure
					}
					return nil
				}, nil)
				b.write("/bad", "FORBIDDEN")
				b.write("/failing", "text")
				b.pass()
				b.pass()
				require.False(t, b.rec.Status().Full, "it has no memory at all")
				for i := range 4 {
					b.write(fmt.Sprintf("/good%d", i), "fine")
				}
				b.pass()
				require.Len(t, b.texts(), 4)
				require.Zero(t, b.warned("store_full"))
				require.Equal(t, 1, b.warned("refused"))
				b.hook(nil, nil)
				b.sync()
				require.Len(t, b.texts(), 5)
			})
		})
	}
}

func TestR11_ManyRefusedDoNotHoldUpLaterOnes(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a") }, func(b *bench) {
		for i := range 2 * maxTried {
			b.write(fmt.Sprintf("/bad%02d", i), fmt.Sprint("FORBIDDEN ", i))
		}
		report := b.pass()
		require.Equal(t, 2*maxTried, report.Refused, "a store with one memory is not full")
		require.False(t, b.rec.Status().Full)
		require.Equal(t, 2*maxTried, b.warned("refused"))
		b.called()
		b.pass()
		require.Empty(t, changes(b.called()), "not asked again")

		for i := range 3 {
			b.write(fmt.Sprintf("/good%d", i), "fine")
		}
		report = b.pass()
		require.Len(t, b.texts(), 4)
		require.Len(t, changes(b.called()), 3)
		require.Equal(t, 2*maxTried, report.Refused)
		time.Sleep(2 * listEvery)
		b.pass()
		require.Empty(t, changes(b.called()), "they were refused for what they are")
	})
}

func TestR11_ARefusedContentThatIsMadeGoodGoesBeforeOthers(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a") }, func(b *bench) {
		for i := range 100 {
			b.write(fmt.Sprintf("/bad%02d", i), fmt.Sprint("FORBIDDEN ", i))
		}
		report := b.pass()
		require.Len(t, changes(b.called()), maxSends)
		require.Equal(t, 100-maxSends, report.Held, "they wait for their turn")
		require.False(t, b.rec.Status().Full)
		time.Sleep(time.Second)
		b.write("/bad00", "made good")
		b.pass()
		require.Equal(t, map[string]string{"/a": "a", "/bad00": "made good"}, b.texts())
	})
}

// A store that is full is not asked for each of many files in every pass, and
// for none twice.
func TestR11_AFullStoreIsAskedForOneMoreInAPass(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.max = 1 }, func(b *bench) {
		const many = 3 * maxSends
		for i := range many {
			b.write(fmt.Sprintf("/new%02d", i), "text")
		}
		b.pass()
		require.Len(t, changes(b.called()), maxSends)
		for range 5 {
			b.pass()
			require.Len(t, changes(b.called()), 1)
		}
		b.sync()
		require.Len(t, changes(b.called()), maxProbes)
		b.sync()
		require.Len(t, changes(b.called()), many-maxSends-5-maxProbes, "each is asked for once")
		b.sync()
		b.pass()
		require.Empty(t, changes(b.called()))

		b.max = 1000
		b.pass()
		require.Len(t, b.texts(), 1, "nobody said that there is room")
		time.Sleep(listEvery)
		b.pass()
		require.Len(t, b.texts(), 1+many)
	})
}

// What the store says is the content is never taken for want of room.
func TestR11_ACertainRefusalIsNoSignOfAFullStore(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.o.MaxMemories = 3 }, func(b *bench) {
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "create /unfit") {
				return store.ErrUnfit
			}
			return nil
		}, nil)
		b.write("/unfit1", "1")
		b.write("/unfit2", "2")
		require.Equal(t, 2, b.sync().Refused)
		b.called()
		b.write("/good", "fine")
		require.Equal(t, 2, b.sync().Refused)
		require.Equal(t, []string{"create /good"}, changes(b.called()))
		require.Zero(t, b.warned("store_full"))
		require.Equal(t, 2, b.warned("refused"))
	})
}

// The plan alone: who is probed, and how those that wait are held.
func TestR11_ProbesTakeTurns(t *testing.T) {
	w := newWorld(t)
	w.policy.MaxMemories = 100
	w.agree("a", "/a", "a")
	for _, name := range []string{"refused", "failed late", "failed", "old"} {
		w.write("/"+name, name)
	}
	refused := w.now
	w.now = w.now.Add(time.Hour)
	w.write("/new", "new")
	w.now = w.now.Add(time.Hour)
	tried := func(name string, after time.Duration) Try {
		return Try{SHA: store.Hash([]byte(name)), At: refused.Add(after), Refused: name == "refused"}
	}
	room := Room{At: 1, Since: refused.Add(time.Minute), Tried: map[string]Try{
		"/refused": tried("refused", 0), "/failed": tried("failed", time.Second), "/failed late": tried("failed late", time.Minute)}}
	sends := func() (paths []string) {
		w.policy.Room = &room
		for _, a := range w.plan().Sends {
			paths = append(paths, a.Path)
		}
		return paths
	}
	turns := []string{"/new", "/old", "/failed", "/failed late"}
	for room.Probes = range 6 {
		require.ElementsMatch(t, turns[:min(room.Probes, 4)], sends())
	}
	room.Again = true
	require.Len(t, sends(), 5)
	room.Probes = 3
	require.ElementsMatch(t, []string{"/new", "/old", "/refused"}, sends(), "it was tried before the others")

	room.Again, room.Probes = false, 0
	holds := func() map[string]Hold {
		w.policy.Room = &room
		held := map[string]Hold{}
		for _, h := range w.plan().Held {
			held[h.Path] = h.Hold
		}
		return held
	}
	for _, c := range []struct {
		limit         int
		sure, two     bool
		tried, others Hold
	}{
		{100, false, true, Refused, Queued},
		{100, true, true, Full, Full},
		{10, false, false, Refused, Full},
		{10, false, true, Full, Full},
	} {
		w.policy.MaxMemories, room.Sure = c.limit, c.sure
		late := room.Tried["/failed late"]
		late.Refused = c.two
		room.Tried["/failed late"] = late
		require.Equal(t, c.tried, holds()["/refused"], "%+v", c)
		require.Equal(t, c.others, holds()["/old"], "%+v", c)
	}
}
