package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func timed(t *testing.T) *world {
	w := newWorld(t)
	w.policy.Everything = false
	return w
}

func TestR4_WhatChangedInTheLastTwoSecondsRests(t *testing.T) {
	w := timed(t)
	w.agree("m", "/f", "v0")
	w.agree("d", "/d", "v0")
	w.write("/f", "v1")
	w.unlink("/d")
	start := w.now
	for _, after := range []time.Duration{0, time.Second, 1999 * time.Millisecond} {
		w.now = start.Add(after)
		r := Plan(w.input())
		require.Empty(t, r.Sends)
		require.Equal(t, start.Add(2*time.Second), r.Wake)
	}
	w.now = start.Add(2 * time.Second)
	require.Len(t, Plan(w.input()).Sends, 2)
}

func TestR4_WhatNeverRestsGoesAfterTwoIntervals(t *testing.T) {
	w := timed(t)
	w.agree("m", "/f", "v0")
	start := w.now
	for w.now.Sub(start) < 30*time.Second {
		w.write("/f", fmt.Sprint(w.now))
		require.Empty(t, Plan(w.input()).Sends)
		w.now = w.now.Add(time.Second)
	}
	w.write("/f", "still")
	require.Len(t, Plan(w.input()).Sends, 1)
}

// R4: whatever way of saving takes the place of a file, over and over, what never
// rests is sent after two intervals, and not before.
func TestR4_SavesThatReplaceTheFileGoAfterTwoIntervals(t *testing.T) {
	for name, save := range map[string]func(b *bench, path, text string){
		"rename": func(b *bench, path, text string) {
			b.write("/tmp", text)
			b.mv("/tmp", path)
		},
		"unlink and create": func(b *bench, path, text string) {
			if _, err := b.lookup(path); err == nil {
				b.rm(path)
			}
			b.write(path, text)
		},
		"rename aside and create": func(b *bench, path, text string) {
			if _, err := b.lookup(path); err == nil {
				b.mv(path, path+".bak")
			}
			b.write(path, text)
		},
	} {
		for _, path := range []string{"/f", "/new"} {
			t.Run(name+path, func(t *testing.T) {
				withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
					began, sent := time.Now(), b.texts()[path]
					var after []time.Duration
					for i := range 70 {
						save(b, path, fmt.Sprint("save ", i))
						time.Sleep(time.Second)
						_, err := b.rec.Pass(b.Context(), PassOptions{})
						require.NoError(b, err)
						if now := b.texts()[path]; now != sent {
							sent, after = now, append(after, time.Since(began))
						}
					}
					require.Len(b, after, 2, "%v", after)
					require.GreaterOrEqual(b, after[0], 30*time.Second)
					require.LessOrEqual(b, after[1], 63*time.Second)
				})
			})
		}
	}
}

// R4: a name that rested before it was taken again has nothing to do with what
// was there.
func TestR4_ANameThatRestedBeginsAnew(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.write("/f", "before")
		b.hook(func(string) error { return errNoAnswer }, nil)
		b.rm("/f")
		time.Sleep(time.Hour)
		b.hook(nil, nil)
		b.write("/f", "half")
		time.Sleep(time.Second)
		_, err := b.rec.Pass(b.Context(), PassOptions{})
		require.NoError(b, err)
		require.NotEqual(b, "half", b.texts()["/f"])
	})
}

// R4: it is what could have been sent that goes after two intervals. A push
// begins them anew, and so does the end of an outage: the file has rested since
// it was first changed.
func TestR4_HalfASaveIsNotSentForAnEarlierOne(t *testing.T) {
	half := func(b *bench, path string) {
		b.Helper()
		b.write(path, "half")
		time.Sleep(time.Second)
		_, err := b.rec.Pass(b.Context(), PassOptions{})
		require.NoError(b, err)
		require.NotEqual(b, "half", b.texts()[path])
		b.write(path, "whole")
		_, err = b.timed()
		require.NoError(b, err)
		require.Equal(b, "whole", b.texts()[path])
	}
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		for _, path := range []string{"/f", "/new"} {
			b.write(path, "before")
			_, err := b.timed()
			require.NoError(b, err)
			half(b, path)
			half(b, path)
		}
	})
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.write("/f", "before")
		b.hook(func(string) error { return errNoAnswer }, nil)
		_, err := b.timed()
		require.ErrorIs(b, err, errNoAnswer)
		b.hook(nil, nil)
		half(b, "/f")
	})
}

func TestR4_AnEmptiedFileRestsForItsOwnBound(t *testing.T) {
	for interval, bound := range map[time.Duration]time.Duration{time.Second: 10 * time.Second, 15 * time.Second: 30 * time.Second} {
		w := timed(t)
		w.policy.Interval = interval
		w.agree("m", "/f", "v0")
		start := w.now
		w.write("/f", "")
		w.now = start.Add(bound - time.Millisecond)
		r := Plan(w.input())
		require.Empty(t, r.Sends)
		require.Equal(t, start.Add(bound), r.Wake)
		w.now = start.Add(bound)
		require.Len(t, Plan(w.input()).Sends, 1)
	}
}

func TestR4_EmptiedLateInALongWriteIsNotSentHalfway(t *testing.T) {
	w := timed(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "v1")
	w.now = w.now.Add(time.Minute)
	w.write("/f", "")
	w.now = w.now.Add(3 * time.Second)
	require.Empty(t, Plan(w.input()).Sends)
}

func TestR4_ExplicitPassSendsEverythingButFailedSaves(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "")
	w.write("/half", "half a sa").Failed = true
	w.run()
	require.Equal(t, []string{"update m "}, w.sent)
	r := Plan(w.input())
	require.Len(t, r.Held, 1)
	require.Equal(t, Failed, r.Held[0].Hold)
	w.fileAt("/half").Failed = false
	w.run()
	w.requireSettled()
}

func TestR4_SendsStartInTheOrderOfTheLastWrites(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"/note3", "/note1", "/note2", "/INDEX"} {
		w.now = w.now.Add(time.Second)
		w.write(p, p)
	}
	w.run()
	require.Equal(t, []string{"create /note3 /note3", "create /note1 /note1", "create /note2 /note2", "create /INDEX /INDEX"}, w.sent)
}

func TestR4_AClockSetBackHoldsNothing(t *testing.T) {
	w := timed(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "v1")
	w.now = w.now.Add(-time.Hour)
	require.Len(t, Plan(w.input()).Sends, 1)
}

func TestR5_NothingIsPulledOverAFileBeingWritten(t *testing.T) {
	w := timed(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "mine")
	w.putRemote("m", "/f", "theirs")
	require.Empty(t, Plan(w.input()).Changes)
	w.now = w.now.Add(2 * time.Second)
	require.Len(t, Plan(w.input()).Changes, 1)
}

func TestR5_WhatNeedsAPlaceStillInUseWaits(t *testing.T) {
	w := timed(t)
	w.agree("m", "/a", "v0")
	w.putRemote("n", "/a/b", "theirs")
	delete(w.store, "m")
	w.write("/a", "mine")
	start := w.now
	r := Plan(w.input())
	require.Empty(t, r.Changes)
	require.Equal(t, start.Add(2*time.Second), r.Wake)
	w.now = start.Add(2 * time.Second)
	w.run()
	w.requireSettled()
	require.Equal(t, map[string]string{"/a/b": "theirs"}, w.tree())
	require.Equal(t, map[string]bool{"mine": true}, w.conflicts)
}
