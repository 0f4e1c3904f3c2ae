package reconcile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"memfs/store"
	"memfs/store/replica"
)

// answering makes the first request of an operation fail with err.
func (b *bench) answering(op string, err error) { b.hook(once(op, err), nil) }

func TestOutcome_PathTakenByNobodyKnownMeansListing(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.answering("create", &store.PathConflictError{})
		b.write("/f", "mine")
		require.Equal(t, []string{"/f"}, b.sync().Unsent)
		b.called()
		b.sync()
		require.True(t, listed(b.called()))
		b.converged()
	})
}

func TestOutcome_ARenameUnderItsOwnPathInTwoRequests(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/x", "text") }, func(b *bench) {
		id := b.id("/x")
		b.mv("/x", "/t")
		b.mv("/t", "/x/in")
		b.answering("update", &store.PathConflictError{ID: id, Path: "/x"})
		b.sync()
		require.Equal(t, map[string]string{"/x/in": "text"}, b.texts())
		require.NotEqual(t, id, b.id("/x/in"))
		b.converged()
	})
}

func TestOutcome_WhatWasInTheWayHasGone(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/other", "o") }, func(b *bench) {
		id := b.id("/other")
		b.answering("create", &store.PathConflictError{ID: id, Path: "/f"})
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "create") && b.id("/other") != "" {
				b.drop("/other")
				return &store.PathConflictError{ID: id, Path: "/f"}
			}
			return nil
		}, nil)
		b.write("/f", "mine")
		b.sync()
		require.Equal(t, map[string]string{"/f": "mine"}, b.texts())
		b.converged()
	})
}

func TestR11_ARefusedNameIsAskedOnceAndTheEditStillGoes(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		asked := 0
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "update") {
				asked++
				return store.ErrInvalid
			}
			return nil
		}, nil)
		b.mv("/f", "/g")
		for range 3 {
			b.sync()
		}
		require.Equal(t, 1, asked)
		require.Equal(t, "v0", b.read("/g"))

		b.write("/g", "edited")
		for range 3 {
			b.sync()
		}
		require.Equal(t, 3, asked, "with the new content, then the path alone")
		b.hook(nil, nil)
		b.write("/g", "edited again")
		b.sync()
		b.converged()
	})
}

func TestOutcome_AnAnswerThatDoesNotFit(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		rec := New(b.rep, &lying{fake: b.fake}, b.o)
		require.NoError(t, rec.Attach(b.Context()))
		b.write("/f", "mine")
		_, err := rec.Sync(b.Context(), false)
		require.ErrorIs(t, err, store.ErrProtocol)
		b.called()
		_, err = rec.Sync(b.Context(), false)
		require.NoError(t, err)
		require.True(t, listed(b.called()))
		require.Equal(t, map[string]string{"/f": "mine"}, b.texts())
		require.Empty(t, b.losers())
	})
}

// lying answers the first update with another content's hash.
type lying struct {
	*fake
	lied bool
}

func (s *lying) Update(ctx context.Context, id string, u store.Update) (store.Memory, error) {
	m, err := s.fake.Update(ctx, id, u)
	if !s.lied {
		s.lied, m.SHA = true, store.Hash([]byte("something else"))
	}
	return m, err
}

func TestOutcome_AnUnreachableStoreIsNotAskedForEveryFile(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "create") {
				return errNoAnswer
			}
			return nil
		}, nil)
		for i := range 500 {
			b.write(fmt.Sprintf("/%03d", i), "text")
		}
		report, err := b.rec.Sync(b.Context(), false)
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.Len(t, report.Unsent, 500)
		require.Less(t, len(changes(b.called())), maxSends+2*maxFailures)
		require.Equal(t, 1, b.warned("send_failed"), "one line")
		b.hook(nil, nil)
		b.sync()
		require.Len(t, b.texts(), 500)
	})
}

func TestOutcome_OneThatAlwaysFailsHoldsNobodyBack(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/pulled", "v0") }, func(b *bench) {
		b.read("/pulled")
		b.put("/pulled", "v1")
		pulled := b.id("/pulled")
		b.hook(func(call string) error {
			if call == "create /poison" || call == "get "+pulled {
				return &store.UnavailableError{Status: 500}
			}
			return nil
		}, nil)
		b.write("/poison", "text")
		for i := range 20 {
			b.write(fmt.Sprintf("/%d", i), "text")
		}
		report, err := b.rec.Sync(b.Context(), false)
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.Equal(t, []string{"/poison"}, report.Unsent)
		require.Len(t, b.texts(), 21)
	})
}

func TestR14_SlotsAreSharedBetweenStores(t *testing.T) {
	slots := semaphore.NewWeighted(2)
	withBench(t, func(b *bench) { b.o.Slots = slots }, func(b *bench) {
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "create") {
				time.Sleep(time.Second)
			}
			return nil
		}, nil)
		for i := range 10 {
			b.write(fmt.Sprintf("/%d", i), "text")
		}
		began := time.Now()
		b.sync()
		require.Equal(t, 5*time.Second, time.Since(began))
		require.True(t, slots.TryAcquire(2), "all given back")
		slots.Release(2)
	})
}

func TestR14_404OnAllIDsOfAGoneStoreDeletesNothing(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/g", "v0") }, func(b *bench) {
		b.tree()
		time.Sleep(listEvery)
		gone := fmt.Errorf("store: %w", store.ErrNotFound)
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "get") || call == "info" {
				return gone
			}
			return nil
		}, nil)
		b.fake.mu.Lock()
		b.memories = map[string]store.Memory{}
		b.fake.mu.Unlock()
		_, err := b.rec.Sync(b.Context(), false)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Len(t, b.tree(), 2)
	})
}

func TestR12_WhatCannotBeShownIsCountedAndSaid(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/"+store.MarkerName, "not ours"); b.put("/ok", "text") }, func(b *bench) {
		require.Equal(t, map[string]string{"/ok": "text"}, b.tree())
		b.sync()
		require.Equal(t, 1, b.rec.Status().Hidden)
		require.Equal(t, 1, b.warned("hidden"))
		require.Len(t, b.texts(), 2)
	})
}

func TestR8_HeldDeletesAreReportedNotUnsent(t *testing.T) {
	withBench(t, func(b *bench) {
		for i := range 12 {
			b.put(fmt.Sprintf("/%d", i), "text")
		}
	}, func(b *bench) {
		for i := range 12 {
			b.rm(fmt.Sprintf("/%d", i))
		}
		report, err := b.rec.Final(b.Context())
		require.NoError(t, err)
		require.Equal(t, 12, report.HeldDeletes)
		require.Empty(t, report.Unsent)
		require.Equal(t, 1, b.warned("mass_delete"))
		require.Equal(t, 1, b.warned("held_deletes"))
		report, err = b.rec.Sync(b.Context(), true)
		require.NoError(t, err)
		require.Equal(t, 12, report.Deleted)
		b.converged()
	})
}

func TestNotes(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		for kind := Conflict; kind <= MassDelete; kind++ {
			b.rec.tell.note(Note{Kind: kind, ID: "m", Path: "/f", To: "/g"}, "c1")
		}
		seen := map[string]bool{}
		for _, line := range b.logs.All() {
			seen[line.Message] = true
			require.NotEmpty(t, line.ContextMap()["code"])
		}
		require.Len(t, seen, int(MassDelete))
		for hold := Resting; hold <= Taken; hold++ {
			require.NotEmpty(t, hold.String())
		}
	})
}

func TestR4_AHalfSavedFileIsHeldAndSaidOnce(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		p := &passing{Reconciler: b.rec, plan: Result{Held: []Held{
			{Ino: b.write("/half", "half"), Gen: 1, Path: "/half", Hold: Failed, Reason: Failed.String()},
			{Ino: replica.Ino(99), Path: "/blocked", Hold: Taken, Reason: Taken.String()}}}}
		p.showHeld()
		p.showHeld()
		require.Equal(t, 1, b.warned("held"))
		require.Equal(t, 1, b.warned("path_taken"))
	})
}
