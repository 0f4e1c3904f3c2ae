package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lives are the ways in which a replica goes on.
var lives = map[string]func(*world){
	"killed": (*world).kill,
	"killed after a checkpoint": func(w *world) {
		require.NoError(w.t, w.Checkpoint())
		w.kill()
	},
	"ended": func(w *world) {
		require.NoError(w.t, w.Close())
		w.open()
	},
}

func TestR16_VerdictsOutliveTheProcess(t *testing.T) {
	for name, goOn := range lives {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, id := range []string{"held", "allowed", "back"} {
				w.base(id, "/"+id, "text of "+id)
				w.rm("/" + id)
			}
			require.NoError(t, w.Judge(map[string]Verdict{"held": HeldBack, "back": HeldBack, "unknown": HeldBack}))
			require.NoError(t, w.Judge(map[string]Verdict{"allowed": Allowed}))
			w.write("/back", "text of back")
			w.Snapshot(nil, nil)
			goOn(w)
			w.rm("/back")
			got := map[string]Verdict{}
			for _, m := range w.Snapshot(nil, nil).Memories {
				got[m.Base.ID] = m.Verdict
			}
			assert.Equal(t, map[string]Verdict{"held": HeldBack, "allowed": Allowed, "back": Unjudged}, got)
		})
	}
}

func TestR8_CountedDeletesOutliveTheProcess(t *testing.T) {
	for name, goOn := range lives {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			counted := func() (ids []string) {
				for _, d := range w.Snapshot(nil, nil).Counted {
					ids = append(ids, d.ID)
				}
				return ids
			}
			send := func(id string, counts bool, applied bool) {
				seq, err := w.BeginSend(Send{Op: OpDelete, ID: id, Counted: counts})
				require.NoError(t, err)
				outcome := &Apply{ID: id}
				if !applied {
					outcome = nil
				}
				require.NoError(t, w.Settle(seq, outcome))
			}
			for _, id := range []string{"first", "implied", "refused", "second"} {
				w.base(id, "/"+id, id)
				w.rm("/" + id)
			}
			send("first", true, true)
			send("implied", false, true)
			send("refused", true, false)
			goOn(w)
			require.Equal(t, []string{"first"}, counted())
			assert.Equal(t, 4, w.Snapshot(nil, nil).Counted[0].Had)

			w.clock.t = w.clock.t.Add(DeleteWindow - time.Second)
			send("second", true, true)
			require.Equal(t, []string{"first", "second"}, counted())
			w.clock.t = w.clock.t.Add(2 * time.Second)
			require.Equal(t, []string{"second"}, counted())
			goOn(w)
			require.Equal(t, []string{"second"}, counted())
		})
	}
}

// What was sent once more after a lost answer counts once, also when the first
// request is given up.
func TestR8_ADeleteSentAgainCountsOnce(t *testing.T) {
	w := newWorld(t)
	w.base("a", "/a", "text")
	w.rm("/a")
	first, err := w.BeginSend(Send{Op: OpDelete, ID: "a", Counted: true})
	require.NoError(t, err)
	second, err := w.BeginSend(Send{Op: OpDelete, ID: "a", Counted: true})
	require.NoError(t, err)
	require.Len(t, w.Snapshot(nil, nil).Counted, 1)
	require.NoError(t, w.Settle(second, &Apply{ID: "a"}))
	require.NoError(t, w.Settle(first, nil))
	require.Len(t, w.Snapshot(nil, nil).Counted, 1)
	w.kill()
	require.Len(t, w.Snapshot(nil, nil).Counted, 1)
}

func TestR8_AClockSetBackCountsNoDeletesForLong(t *testing.T) {
	w := newWorld(t)
	w.base("a", "/a", "text")
	w.base("b", "/b", "text")
	w.clock.advance(24 * time.Hour)
	_, err := w.BeginSend(Send{Op: OpDelete, ID: "a", Counted: true})
	require.NoError(t, err)
	w.clock.advance(-24 * time.Hour)
	require.Empty(t, w.Snapshot(nil, nil).Counted)
	_, err = w.BeginSend(Send{Op: OpDelete, ID: "b", Counted: true})
	require.NoError(t, err)
	require.Len(t, w.Snapshot(nil, nil).Counted, 1)
}

// R8: a file may come back, and be looked at, between the look that found it
// deleted and the verdict.
func TestR8_AVerdictOnAMemoryThatIsBackIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.base("a", "/a", "text")
	w.rm("/a")
	w.Snapshot(nil, nil)
	w.write("/a", "text")
	w.Snapshot(nil, nil)
	require.NoError(t, w.Judge(map[string]Verdict{"a": HeldBack}))
	w.Snapshot(nil, nil)
	w.rm("/a")
	memories := w.Snapshot(nil, nil).Memories
	require.Len(t, memories, 1)
	assert.Equal(t, Unjudged, memories[0].Verdict, "another delete")
}
