package mounttest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica/conflicts"
	"memfs/store/replica/disk"
)

// Put makes text the content of the memory at a path in the store, whether it
// exists or not.
func (m *Mount) Put(path, text string) store.Memory {
	m.t.Helper()
	old, ok := m.Memories()[path]
	if !ok {
		made, err := m.Remote.Create(m.t.Context(), path, []byte(text))
		require.NoError(m.t, err)
		return made
	}
	content := []byte(text)
	changed, err := m.Remote.Update(m.t.Context(), old.ID, store.Update{Content: &content, Expect: old.SHA})
	require.NoError(m.t, err)
	return changed
}

// Delete deletes the memory at a path in the store.
func (m *Mount) Delete(path string) {
	m.t.Helper()
	old, ok := m.Memories()[path]
	require.True(m.t, ok, "no memory at %s", path)
	require.NoError(m.t, m.Remote.Delete(m.t.Context(), old.ID, old.SHA))
}

// Memories are what the store holds, by path, with contents.
func (m *Mount) Memories() map[string]store.Memory {
	m.t.Helper()
	all := make(map[string]store.Memory)
	for query := (store.ListQuery{Full: true}); ; {
		page, err := m.Remote.List(m.t.Context(), query)
		require.NoError(m.t, err)
		for _, memory := range page.Memories {
			all[memory.Path] = memory
		}
		if page.Next == "" {
			return all
		}
		query.Page = page.Next
	}
}

// Texts are the contents of Memories.
func (m *Mount) Texts() map[string]string {
	m.t.Helper()
	texts := make(map[string]string)
	for path, memory := range m.Memories() {
		texts[path] = string(memory.Content)
	}
	return texts
}

// Losers are the texts that lost a conflict, by the path that they had (R7).
func (m *Mount) Losers() map[string][]string {
	m.t.Helper()
	return Losers(m.t, m.config.State)
}

// Losers are the texts of all stores that lost a conflict and are kept in a
// state directory, by the path that they had.
func Losers(t testing.TB, state string) map[string][]string {
	t.Helper()
	areas, err := filepath.Glob(filepath.Join(state, "conflicts", "*"))
	require.NoError(t, err)
	losers := make(map[string][]string)
	for _, at := range areas {
		dir, err := disk.Open(at, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, dir.Close()) }()
		area, err := conflicts.Open(dir, conflicts.Options{})
		require.NoError(t, err)
		entries, err := area.List()
		require.NoError(t, err)
		for _, e := range entries {
			text, _, err := area.Text(e.ID)
			require.NoError(t, err)
			losers[e.Path] = append(losers[e.Path], string(text))
		}
	}
	return losers
}

// History is the hashes of all texts that the store ever held.
func (m *Mount) History() map[store.SHA]bool {
	m.t.Helper()
	all := make(map[store.SHA]bool)
	for query := (store.VersionQuery{}); ; {
		page, err := m.Remote.Versions(m.t.Context(), query)
		require.NoError(m.t, err)
		for _, v := range page.Versions {
			all[v.SHA] = true
		}
		if page.Next == "" {
			return all
		}
		query.Page = page.Next
	}
}
