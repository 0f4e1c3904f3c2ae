package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// storeOf has n agreed memories /0, /1, ...
func storeOf(t *testing.T, n int) *world {
	w := newWorld(t)
	for i := range n {
		w.agree(fmt.Sprintf("m%d", i), fmt.Sprintf("/%d", i), fmt.Sprint(i))
	}
	return w
}

func (w *world) unlinkRange(from, to int) {
	for i := from; i < to; i++ {
		w.unlink(fmt.Sprintf("/%d", i))
	}
}

// A file that is put back while its delete waits for others keeps its id.
func TestR8_PutBackBeforeTheDeleteIsSent(t *testing.T) {
	const memories = maxSends + 1
	withBench(t, func(b *bench) {
		b.o.AllowMassDelete = true
		for i := range memories {
			b.put(fmt.Sprintf("/%d", i), "text")
		}
	}, func(b *bench) {
		release := make(chan struct{})
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "delete") {
				<-release
			}
			return nil
		}, nil)
		ids := map[string]string{} // by path
		for i := range memories {
			p := fmt.Sprintf("/%d", i)
			ids[p] = b.id(p)
			b.rm(p)
		}
		time.Sleep(time.Minute)
		b.called()
		ended := make(chan error)
		go func() {
			_, err := b.rec.Sync(b.Context(), false)
			ended <- err
		}()
		synctest.Wait()
		for _, call := range b.called() {
			for p, id := range ids {
				if call == "delete "+id {
					delete(ids, p)
				}
			}
		}
		require.Len(t, ids, 1, "one waits")
		for p := range ids {
			b.write(p, "text")
		}
		close(release)
		require.NoError(t, <-ended)
		b.sync()
		for p, id := range ids {
			require.Equal(t, id, b.id(p))
		}
		require.Len(t, b.texts(), 1)
	})
}

func TestR8_Guard(t *testing.T) {
	for _, c := range []struct {
		name           string
		had, deleted   int
		wantSent, held int
	}{
		{"all of a small store", 8, 8, 8, 0},
		{"half", 20, 10, 10, 0},
		{"more than half", 20, 11, 0, 11},
		{"just over the least", 9, 9, 0, 9},
		{"many, but not half", 100, 40, 40, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := storeOf(t, c.had)
			w.unlinkRange(0, c.deleted)
			w.run()
			require.Len(t, w.sent, c.wantSent)
			require.Len(t, Plan(w.input()).Deletes.Guarded, c.held)
		})
	}
}

func TestR8_GuardCountsTenMinutesOfDeletes(t *testing.T) {
	w := storeOf(t, 20)
	w.unlinkRange(0, 10)
	w.run()
	require.Len(t, w.sent, 10)
	w.now = w.now.Add(9 * time.Minute)
	w.unlinkRange(10, 11)
	r := w.plan()
	require.Len(t, r.Deletes.Guarded, 1)
	require.Equal(t, []Note{{Kind: MassDelete, Count: 1, Of: 20}}, r.Notes)
	w.carryOut(r, nil)

	w.now = w.now.Add(20 * time.Minute)
	require.Len(t, w.plan().Deletes.Guarded, 1, "what is held stays held")
	w.unlinkRange(11, 12)
	w.run()
	require.Len(t, w.sent, 11, "a delete outside the window goes")

	w.policy.AllowDeletes = true
	w.run()
	w.requireSettled()
}

func TestR8_RegretBeforeThePassSendsNothing(t *testing.T) {
	w := storeOf(t, 20)
	w.unlinkRange(0, 20)
	w.run()
	require.Empty(t, w.sent)
	for i := range 20 {
		w.write(fmt.Sprintf("/%d", i), fmt.Sprint(i))
	}
	w.run()
	require.Empty(t, w.sent)
	w.requireSettled()
	require.Len(t, w.memories(), 20)
}

// A create for which the store has no room until held deletes go says so.
func TestR8_ACreateThatWaitsForHeldDeletesSaysSo(t *testing.T) {
	w := storeOf(t, 20)
	w.policy.MaxMemories = 20
	w.unlinkRange(0, 12)
	w.write("/new", "needs room")
	r := w.plan()
	require.Len(t, r.Held, 1)
	require.Equal(t, Full, r.Held[0].Hold)
	require.Contains(t, r.Held[0].Reason, "held by the mass-delete guard")
	w.run()
	w.policy.AllowDeletes = true
	w.run()
	w.requireSettled()
	require.Len(t, w.memories(), 9)
}

func TestR8_ImpliedDeletesAreNotCounted(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		w.agree(fmt.Sprintf("m%d", i), fmt.Sprintf("/d/%d", i), fmt.Sprint(i))
	}
	for i := range 12 {
		w.unlink(fmt.Sprintf("/d/%d", i))
	}
	w.run()
	require.Empty(t, w.sent, "the guard holds them")
	w.write("/d", "a file now")
	w.run()
	require.Len(t, w.sent, 13)
	w.requireSettled()
}

func TestR8_Modes(t *testing.T) {
	for mode, notes := range map[Deletions]int{DeletionsDisabled: 0, DeletionsLogOnly: 1} {
		w := storeOf(t, 3)
		w.policy.Deletions = mode
		w.unlinkRange(0, 1)
		r := w.plan()
		require.Empty(t, r.Sends)
		require.Equal(t, []string{"/0"}, r.Deletes.Suppressed)
		require.Len(t, r.Notes, notes)

		w.write("/0/new", "needs the place")
		r = w.plan()
		require.Empty(t, r.Sends)
		require.Len(t, r.Held, 1)
		require.Equal(t, Waiting, r.Held[0].Hold)
		require.Contains(t, r.Held[0].Reason, "/0", "it says what it waits for")

		w.putRemote("m1", "/1", "theirs")
		w.unlink("/1")
		w.run()
		require.Equal(t, "theirs", w.tree()["/1"], "the remote edit beats the delete")
	}
}
