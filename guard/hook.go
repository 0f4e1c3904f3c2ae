package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// maxHook bounds what a hook reads, in bytes: a tool's input holds whole files.
const maxHook = 64 << 20

// ErrHook says that what a hook was given is not a tool use: nothing is known
// of it, so the tool should not run.
var ErrHook = errors.New("not a tool-use hook's JSON")

// ToolUse is a tool that an agent is about to use, as the hooks of agent
// harnesses describe it.
type ToolUse struct {
	// Event is the hook's name: "PreToolUse".
	Event string `json:"hook_event_name"`
	Tool  string `json:"tool_name"`
	// CWD is what relative paths are relative to.
	CWD   string         `json:"cwd"`
	Input map[string]any `json:"tool_input"`
}

// ReadToolUse reads a hook's JSON. Everything that is wrong with it is
// ErrHook.
func ReadToolUse(in io.Reader) (ToolUse, error) {
	limited := &io.LimitedReader{R: in, N: maxHook + 1}
	text, err := io.ReadAll(limited)
	if err != nil {
		return ToolUse{}, fmt.Errorf("%w: %w", ErrHook, err)
	}
	if len(text) > maxHook {
		return ToolUse{}, fmt.Errorf("%w: longer than %d bytes", ErrHook, maxHook)
	}
	var use ToolUse
	if json.Unmarshal(text, &use) != nil { // its error may quote the input
		return ToolUse{}, ErrHook
	}
	if use.Tool == "" {
		return ToolUse{}, fmt.Errorf("%w: it names no tool", ErrHook)
	}
	return use, nil
}

// writers are the tools that write files, and the fields of their input that
// name one. A tool of another name is not judged: least of all a shell, which
// no look at its command can confine.
var writers = map[string][]string{
	"write":                       {"file_path", "path"},
	"edit":                        {"file_path", "path"},
	"multiedit":                   {"file_path", "path"},
	"notebookedit":                {"notebook_path", "file_path"},
	"write_file":                  {"path", "file_path"},
	"edit_file":                   {"path", "file_path"},
	"create_file":                 {"path", "file_path"},
	"delete_file":                 {"path", "file_path"},
	"create_directory":            {"path"},
	"move_file":                   {"source", "destination"},
	"str_replace_editor":          {"path"},
	"str_replace_based_edit_tool": {"path"},
	"memory":                      {"path", "old_path", "new_path"},
}

// viewers are those of the writers that write nothing where their input's
// command is to view. Others may ignore such a field, and write.
var viewers = []string{"str_replace_editor", "str_replace_based_edit_tool", "memory"}

// Writes are the paths that the tool would write to, absolute as far as the
// hook says where they start.
func (u ToolUse) Writes() []string {
	name := strings.ToLower(u.Tool)
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:] // of a tool server: mcp__files__write_file
	}
	if command, _ := u.Input["command"].(string); command == "view" && slices.Contains(viewers, name) {
		return nil
	}
	var paths []string
	for _, field := range writers[name] {
		target, _ := u.Input[field].(string)
		if target == "" {
			continue
		}
		if !path.IsAbs(target) && path.IsAbs(u.CWD) {
			target = u.CWD + "/" + target // ".." is the guard's to judge
		}
		paths = append(paths, target)
	}
	return paths
}

// Check reports whether the guard permits the tool use: nil, or the error of
// the first path that it refuses.
func (u ToolUse) Check(g *Guard) error {
	for _, target := range u.Writes() {
		if err := g.Check(target, Write); err != nil {
			return err
		}
	}
	return nil
}

// Answer is what a hook prints to refuse a tool use, on one line, for a refusal
// of Check. A permitted one is answered with nothing, so that the harness's own
// rules decide.
func (u ToolUse) Answer(refused error) ([]byte, error) {
	type decision struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	}
	event := u.Event
	if event == "" {
		event = "PreToolUse"
	}
	text, err := json.Marshal(struct {
		Output decision `json:"hookSpecificOutput"`
	}{decision{event, "deny", fmt.Sprintf("%s: %v", u.Tool, refused)}})
	return append(text, '\n'), err
}
