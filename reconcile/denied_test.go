package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// forbidding answers 403 to the changes of which of reports true.
func (b *bench) forbidding(of func(call string) bool) {
	b.hook(func(call string) error {
		if len(changes([]string{call})) == 1 && of(call) {
			return store.ErrForbidden
		}
		return nil
	}, nil)
}

func TestR14_OneContentThatIsForbiddenStopsNoOthers(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/old", "v0") }, func(b *bench) {
		b.forbidding(func(call string) bool { return call == "create /script" })
		ino := b.write("/script", "<script>")
		b.pass()
		require.True(t, b.rec.Status().Frozen, "nobody knows yet")
		for i := range 3 {
			b.write(fmt.Sprintf("/good%d", i), "fine")
		}
		b.write("/old", "edited")
		report := b.pass()
		require.Equal(t, map[string]string{"/old": "edited", "/good0": "fine", "/good1": "fine", "/good2": "fine"}, b.texts())
		require.False(t, b.rec.Status().Frozen)
		require.Equal(t, []string{"/script"}, report.Unsent)
		require.Equal(t, 1, report.Refused)
		require.Equal(t, 1, b.warned("refused"))
		seen, err := b.rep.Inspect(ino)
		require.NoError(t, err)
		require.Equal(t, "refused", string(seen.State))

		b.called()
		for range 3 {
			b.sync()
		}
		require.Empty(t, changes(b.called()), "not asked again")
		b.write("/script", "<script> once more")
		b.pass()
		require.True(t, b.rec.Status().Frozen, "a new content, and nothing else to send")
		b.hook(nil, nil)
		b.sync()
		b.converged()
	})
}

func TestR14_OneOfManyThatIsForbidden(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/edit", "v0"); b.put("/from", "v0") }, func(b *bench) {
		edit, from := b.id("/edit"), b.id("/from")
		b.forbidding(func(call string) bool { return call == "update "+edit || call == "update "+from })
		b.write("/edit", "<script>")
		b.mv("/from", "/to")
		for i := range 50 {
			b.write(fmt.Sprintf("/good%d", i), "fine")
		}
		b.pass()
		for i := range 3 { // one may have been asked for when the other stopped all
			b.write("/later", fmt.Sprint("fine ", i))
			b.pass()
		}
		require.Len(t, b.texts(), 53)
		require.False(t, b.rec.Status().Frozen)
		require.Equal(t, 2, b.warned("refused"), "an edit and a name")
		b.called()
		require.Equal(t, 2, b.sync().Refused)
		require.Empty(t, changes(b.called()))
	})
}

// The others were taken while it went on, and nothing else is to be sent.
func TestR14_OneContentThatIsForbiddenAfterOthersWereTaken(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.hook(func(call string) error {
			if len(changes([]string{call})) == 1 {
				time.Sleep(time.Second)
			}
			if call == "create /script" {
				time.Sleep(time.Second)
				return store.ErrForbidden
			}
			return nil
		}, nil)
		b.write("/script", "<script>")
		b.write("/good", "fine")
		b.pass()
		require.True(t, b.rec.Status().Frozen)
		require.Equal(t, 1, b.pass().Refused)
		require.False(t, b.rec.Status().Frozen)
		require.Equal(t, 1, b.warned("refused"))
	})
}

// Several were refused while others were taken: it may be that the key lost its
// right in between.
func TestR14_AKeyThatLosesItsRightInABurst(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "create /late") {
				time.Sleep(time.Second)
				return store.ErrForbidden
			}
			return nil
		}, nil)
		b.write("/good", "fine")
		for i := range 5 {
			b.write(fmt.Sprintf("/late%d", i), "text")
		}
		for range 6 {
			b.pass()
			require.True(t, b.rec.Status().Frozen)
		}
		require.Zero(t, b.warned("refused"))
		require.Equal(t, 1, b.warned("unauthorized"))
		b.hook(nil, nil)
		b.pass()
		b.converged()
	})
}

// A key that may not write: one request a pass, a different one each time, and
// all goes once it may.
func TestR14_AFrozenStoreIsAskedForEachInTurn(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.forbidding(func(string) bool { return true })
		const many = 5
		b.write("/0", "text")
		b.pass()
		for i := range many {
			b.write(fmt.Sprintf("/%d", i), "text")
		}
		b.called()
		asked := map[string]int{}
		for range 2 * many {
			b.pass()
			sent := changes(b.called())
			require.Len(t, sent, 1)
			asked[sent[0]]++
		}
		require.Len(t, asked, many)
		for call, times := range asked {
			require.Equal(t, 2, times, call)
		}
		require.Equal(t, 1, b.warned("unauthorized"), "one line")
		require.Zero(t, b.warned("refused"), "nothing is held against the files")
		require.True(t, b.rec.Status().Frozen)
		b.hook(nil, nil)
		b.sync()
		b.converged()
		require.False(t, b.rec.Status().Frozen)
	})
}

// A key that loses its right and gets it back leaves nothing refused for good.
func TestR14_WhatWasForbiddenIsTriedOnceMoreAfterAThaw(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.forbidding(func(call string) bool { return call == "create /script" })
		b.write("/script", "<script>")
		b.pass()
		b.write("/good", "fine")
		require.Equal(t, 1, b.pass().Refused)
		b.forbidding(func(string) bool { return true })
		b.write("/good", "edited")
		b.pass()
		require.True(t, b.rec.Status().Frozen)
		b.hook(nil, nil)
		b.pass()
		b.pass()
		b.converged()
	})
}

func TestR14_A401IsNeverForOneContent(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		b.hook(func(call string) error {
			if call == "create /unlucky" {
				return store.ErrUnauthorized
			}
			return nil
		}, nil)
		b.write("/unlucky", "text")
		for i := range 4 {
			b.pass()
			b.write(fmt.Sprintf("/good%d", i), "fine")
		}
		b.pass()
		require.Len(t, b.texts(), 4, "others go")
		require.Zero(t, b.warned("refused"))
		b.hook(nil, nil)
		b.sync()
		b.converged()
	})
}

// A key that may create and edit, and not delete.
func TestR14_AForbiddenDeleteStopsNoOthers(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.forbidding(func(call string) bool { return strings.HasPrefix(call, "delete") })
		b.rm("/a")
		b.pass()
		b.write("/good", "fine")
		b.pass()
		require.Len(t, b.texts(), 3)
		require.False(t, b.rec.Status().Frozen)
		for i := range 3 {
			b.write("/good", fmt.Sprint("edited ", i))
			b.called()
			b.pass()
			require.Len(t, changes(b.called()), 2, "the delete is tried again")
			require.Equal(t, fmt.Sprint("edited ", i), b.texts()["/good"])
		}
		b.hook(nil, nil)
		time.Sleep(time.Minute)
		b.sync()
		b.converged()
	})
}

// A key that loses its right while many requests go on: what was taken before
// the first refusal says nothing of those that are refused after it.
func TestR14_WhatWasTakenBeforeSaysNothingOfARefusal(t *testing.T) {
	var d denials
	x, y := Action{Op: replica.OpCreate, Local: "/x"}, Action{Op: replica.OpCreate, Local: "/y"}
	d.took(y)
	x.began.taken = d.taken
	for range 3 {
		require.False(t, d.denied(x, true))
		require.True(t, d.frozen)
	}
	require.Equal(t, []int{1, 0}, d.order([]Action{x, y}))
	require.Empty(t, d.took(y))
	require.False(t, d.frozen)
	require.True(t, d.denied(x, true))
	require.False(t, d.frozen)
	x.SHA = store.Hash([]byte("another"))
	require.False(t, d.denied(x, true), "another content")
	require.True(t, d.frozen)
}
