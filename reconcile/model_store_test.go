package reconcile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// send is one request, answered by the store's rules and settled.
func (w *world) send(a Action) {
	s := w.begin(a)
	id, err := w.serve(a)
	require.NoError(w.t, err, "%+v", a)
	w.sends = slices.DeleteFunc(w.sends, func(x replica.Send) bool { return x.Seq == s.Seq })
	w.moveBase(settlement(a, w.remote(id)))
}

func (w *world) remote(id string) *store.Memory {
	if m, there := w.store[id]; there {
		return &m
	}
	return nil
}

// lose is one request that is applied but whose answer is lost.
func (w *world) lose(a Action) {
	w.begin(a)
	_, err := w.serve(a)
	require.NoError(w.t, err)
}

func (w *world) begin(a Action) replica.Send {
	s := a.send()
	s.Seq = uint64(w.next())
	w.sends = append(w.sends, s)
	return s
}

var errModel = errors.New("the store says no")

func (w *world) serve(a Action) (id string, err error) {
	w.sent = append(w.sent, w.words(a))
	if f := w.files[a.Ino]; a.Op != replica.OpDelete {
		require.NotNil(w.t, f)
		require.Equal(w.t, a.SHA, f.SHA)
	}
	m, there := w.store[a.ID]
	if a.Op != replica.OpCreate && (!there || m.SHA != a.Expect) {
		return a.ID, fmt.Errorf("%w: precondition of %s", errModel, w.words(a))
	}
	switch a.Op {
	case replica.OpDelete:
		delete(w.store, a.ID)
		return a.ID, nil
	case replica.OpCreate:
		m = store.Memory{ID: fmt.Sprintf("n%d", w.next())}
	}
	if a.Content {
		m.SHA, m.Size = a.SHA, int64(len(w.texts[a.SHA]))
		w.history[w.texts[a.SHA]] = true
	}
	if a.Op == replica.OpCreate || a.Rename {
		m.Path = a.Path
	}
	m.VersionID = fmt.Sprintf("v%d", w.next())
	w.store[m.ID] = m
	var all []string
	for _, x := range w.store {
		all = append(all, x.Path)
	}
	requirePrefixFree(w.t, all)
	return m.ID, nil
}

func (w *world) words(a Action) string {
	switch {
	case a.Op == replica.OpDelete:
		return "delete " + a.ID
	case a.Op == replica.OpCreate:
		return fmt.Sprintf("create %s %s", a.Path, w.texts[a.SHA])
	case a.Rename && a.Content:
		return fmt.Sprintf("update %s %s to %s", a.ID, w.texts[a.SHA], a.Path)
	case a.Rename:
		return fmt.Sprintf("update %s to %s", a.ID, a.Path)
	default:
		return fmt.Sprintf("update %s %s", a.ID, w.texts[a.SHA])
	}
}

func requirePrefixFree(t require.TestingT, all []string) {
	taken := map[string]bool{}
	for _, p := range all {
		if taken[p] {
			require.Fail(t, "one path twice", p)
		}
		taken[p] = true
	}
	for _, p := range all {
		for _, dir := range above(p) {
			if taken[dir] {
				require.Fail(t, "a path under another", "%s and %s", dir, p)
			}
		}
	}
}
