package guard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/guard"
)

func hookGuard(top string) *guard.Guard {
	return guard.New(guard.Root{Path: top}, guard.Root{Path: "/"},
		guard.Root{Path: filepath.Join(top, "notes")}, guard.Root{Path: filepath.Join(top, "team"), ReadOnly: true})
}

func use(t *testing.T, tool, cwd string, input map[string]any) guard.ToolUse {
	t.Helper()
	text, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": tool, "cwd": cwd, "tool_input": input, "session_id": "x"})
	require.NoError(t, err)
	read, err := guard.ReadToolUse(bytes.NewReader(text))
	require.NoError(t, err)
	return read
}

func TestR10_HookRefusesWritesInReadOnlyStores(t *testing.T) {
	top := tree(t)
	g := hookGuard(top)
	team := filepath.Join(top, "team")
	link(t, team, filepath.Join(top, "work", "link"))
	for name, u := range map[string]guard.ToolUse{
		"write":          use(t, "Write", top, map[string]any{"file_path": team + "/new.md", "content": "x"}),
		"edit":           use(t, "edit", top, map[string]any{"file_path": team + "/a.md"}),
		"notebook":       use(t, "NotebookEdit", top, map[string]any{"notebook_path": team + "/a.ipynb"}),
		"relative":       use(t, "Write", team, map[string]any{"file_path": "sub/../a.md"}),
		"through a link": use(t, "Write", top, map[string]any{"file_path": top + "/work/link/a.md"}),
		"link and back":  use(t, "Write", top, map[string]any{"file_path": top + "/work/link/../team/a.md"}),
		"relative back":  use(t, "Write", top+"/work", map[string]any{"file_path": "link/../team/a.md"}),
		"no viewer":      use(t, "mcp__files__write_file", top, map[string]any{"path": team + "/a.md", "command": "view"}),
		"tool server":    use(t, "mcp__files__write_file", top, map[string]any{"path": team + "/a.md"}),
		"move out":       use(t, "mcp__files__move_file", top, map[string]any{"source": team + "/a.md", "destination": top + "/notes/a.md"}),
		"editor":         use(t, "str_replace_based_edit_tool", top, map[string]any{"command": "create", "path": team + "/a.md"}),
		"memory rename":  use(t, "memory", top, map[string]any{"command": "rename", "old_path": top + "/notes/a.md", "new_path": team + "/a.md"}),
	} {
		t.Run(name, func(t *testing.T) {
			err := u.Check(g)
			var readOnly *guard.ReadOnlyError
			require.ErrorAs(t, err, &readOnly)
			text, err := u.Answer(err)
			require.NoError(t, err)
			assert.Contains(t, string(text), `"permissionDecision":"deny"`)
			assert.Contains(t, string(text), team)
		})
	}
	for name, u := range map[string]guard.ToolUse{
		"read":        use(t, "Read", top, map[string]any{"file_path": team + "/a.md"}),
		"view":        use(t, "str_replace_based_edit_tool", top, map[string]any{"command": "view", "path": team + "/a.md"}),
		"shell":       use(t, "Bash", top, map[string]any{"command": "rm " + team + "/a.md"}),
		"other store": use(t, "Write", top, map[string]any{"file_path": top + "/notes/a.md"}),
		"outside":     use(t, "Write", top, map[string]any{"file_path": top + "/outside/a.md"}),
		"no path":     use(t, "Write", top, nil),
	} {
		t.Run(name, func(t *testing.T) { assert.NoError(t, u.Check(g)) })
	}
}

func TestHookRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"tool_name":1}`, `{"tool_name":"Write","tool_input":"secret"}`} {
		_, err := guard.ReadToolUse(strings.NewReader(text))
		require.ErrorIs(t, err, guard.ErrHook, text)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func FuzzHook(f *testing.F) {
	f.Add(`{"tool_name":"Write","tool_input":{"file_path":"/ro/a"}}`)
	f.Add(`{"tool_name":"mcp__x__move_file","cwd":"/ro","tool_input":{"source":"a","destination":"../b"}}`)
	f.Add(`{"hook_event_name":"PreToolUse","tool_name":"Edit","cwd":"relative","tool_input":{"file_path":"\u0000"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := guard.ReadToolUse(strings.NewReader(text))
		if err != nil {
			require.ErrorIs(t, err, guard.ErrHook)
			return
		}
		g := guard.New(guard.Root{Path: "/nowhere"}, guard.Root{Path: "/"}, guard.Root{Path: "/ro-store", ReadOnly: true})
		refused := u.Check(g)
		for _, target := range u.Writes() {
			if clean := filepath.Clean(target); clean == "/ro-store" || strings.HasPrefix(clean, "/ro-store/") {
				require.Error(t, refused, "a write in the read-only store was let through")
			}
		}
		if refused == nil {
			return
		}
		answer, err := u.Answer(refused)
		require.NoError(t, err)
		require.True(t, json.Valid(answer))
		require.Equal(t, 1, bytes.Count(answer, []byte("\n")))
		var readOnly *guard.ReadOnlyError
		var unresolved *guard.UnresolvedError
		require.True(t, errors.As(refused, &readOnly) || errors.As(refused, &unresolved), "%v", refused)
	})
}
