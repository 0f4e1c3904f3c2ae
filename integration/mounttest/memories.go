package mounttest

import (
	"github.com/stretchr/testify/require"

	"memfs/store"
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
