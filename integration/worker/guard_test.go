package worker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"memfs/store/local"
)

// R10: other harnesses than memfs's own worker ask before they write.
func TestR10_GuardKnowsTheMounts(t *testing.T) {
	h := newHost(t, local.Options{})
	notes, rules := h.store("notes", map[string]string{"/a.md": "a"}), h.store("rules", map[string]string{"/a.md": "a"})
	rules.ReadOnly = true
	w := h.poll(never)
	x := h.open(notes, rules)
	h.do(x, bash("true"))
	check := func(args ...string) (int, string) {
		return exitCode(h.command(append([]string{"guard", "check"}, args...)...))
	}
	for _, ok := range [][]string{{h.at("notes", "a.md")}, {h.at("notes", "new.md")}, {h.at("rules", "a.md"), "--op", "read"}, {h.path("work", "x")}} {
		code, out := check(ok...)
		assert.Equal(t, 0, code, out)
	}
	for _, path := range []string{h.at("rules", "a.md"), h.at("rules", "new", "b.md"), h.at("notes", "..", "rules", "a.md")} {
		code, out := check(path, "--op", "write")
		assert.Equal(t, 1, code)
		assert.Contains(t, out, "read-only directory "+h.at("rules"))
	}
	hook := func(path string) (int, string) {
		c := h.command("guard", "hook")
		c.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":"PreToolUse","tool_name":"Write","cwd":"/","tool_input":{"file_path":%q,"content":"x"}}`, path))
		return exitCode(c)
	}
	code, out := hook(h.at("rules", "a.md"))
	assert.Equal(t, 0, code, out)
	assert.Contains(t, out, `"permissionDecision":"deny"`)
	code, out = hook(h.at("notes", "a.md"))
	assert.Equal(t, 0, code, out)
	assert.Empty(t, out)
	c := h.command("guard", "hook")
	c.Stdin = strings.NewReader("nonsense")
	code, out = exitCode(c)
	assert.Equal(t, 2, code, out)
	h.finish(x)
	assert.Equal(t, 0, w.end())
}
