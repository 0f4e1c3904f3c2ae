package worker_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// An agent reads, edits, creates, renames and deletes in two stores, one of
// them read-only.
func TestStory(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("My Notes", map[string]string{"/todo.md": "buy milk\n", "/old.md": "old\n", "/draft.md": "draft\n"})
	rules := h.store("rules", map[string]string{"/rule.md": "be kind\n"})
	rules.ReadOnly = true
	todo := h.at("my-notes", "todo.md")
	x := h.session([]local.Attachment{notes, rules},
		read(todo),
		edit(todo, "milk", "bread"),
		write(h.at("rules", "rule.md"), "be rude\n"),
		bash("cd "+h.at("my-notes")+" && echo new > new.md && rm old.md && mv draft.md final.md && cat todo.md"),
		bash("pwd; ls -1A "+h.at("my-notes")),
	)
	w := h.poll()
	h.stopped(x)
	assert.Equal(t, 0, w.end())
	answers := texts(x)
	require.Len(t, answers, 5)
	assert.Equal(t, "buy milk", answers[0])
	assert.Equal(t, "error: write: "+h.at("rules", "rule.md")+" is inside read-only directory "+h.at("rules"), answers[2])
	assert.Equal(t, "buy bread", answers[3])
	assert.Equal(t, h.at("my-notes")+"\n.anthropic-memory-store\nfinal.md\nnew.md\ntodo.md", answers[4])
	assert.Equal(t, map[string]string{"/todo.md": "buy bread\n", "/final.md": "draft\n", "/new.md": "new\n"}, h.contents(notes))
	assert.Equal(t, map[string]string{"/rule.md": "be kind\n"}, h.contents(rules))
}
