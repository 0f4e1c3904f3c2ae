package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"memfs/store/claude"
	"memfs/store/local"
)

// maxScript bounds a script, in bytes.
const maxScript = 16 << 20

// Script is a session to rehearse.
type Script struct {
	Stores []Store `yaml:"stores"`
	// Skills are what the agent brings.
	Skills []local.Skill `yaml:"skills"`
	// Calls are what the agent does. Paths below /mnt/memory are below where
	// the stores are really mounted.
	Calls []Call `yaml:"calls"`
	// End is "terminated" (also for "") or "idle": how the session ends.
	End string `yaml:"end"`
}

// Store is a store of the session.
type Store struct {
	Name     string `yaml:"name"`
	ReadOnly bool   `yaml:"read_only"`
	// Memories are in the store before, content by path.
	Memories map[string]string `yaml:"memories"`
}

// Call is one use of a tool: {tool: edit, input: {...}}, or {bash: COMMAND}.
type Call struct {
	Tool  string         `yaml:"tool"`
	Input map[string]any `yaml:"input"`
	Bash  string         `yaml:"bash"`
}

// MakeStores finds the script's stores by their names through api, or makes
// them, and returns their ids.
func (s Script) MakeStores(ctx context.Context, api *claude.API) ([]string, error) {
	ids := make([]string, len(s.Stores))
	for i, st := range s.Stores {
		id, err := st.findOrMake(ctx, api)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// Start queues the script's session for a worker; ids are of its stores. root
// is where server mounts stores.
func (s Script) Start(ctx context.Context, server *local.Server, root string, ids []string) (*local.Session, error) {
	spec := local.SessionSpec{Script: local.Script{Skills: s.Skills, Calls: s.calls(root), End: s.End}}
	for i, st := range s.Stores {
		spec.Stores = append(spec.Stores, local.Attachment{Store: ids[i], ReadOnly: st.ReadOnly})
	}
	return server.StartSession(ctx, spec)
}

// findOrMake is the id of the store of that name; a new one has the script's
// memories.
func (st Store) findOrMake(ctx context.Context, api *claude.API) (string, error) {
	all, err := api.Stores(ctx)
	if err != nil {
		return "", err
	}
	for _, there := range all {
		if there.Name == st.Name {
			return there.ID, nil
		}
	}
	made, err := api.CreateStore(ctx, st.Name, "")
	if err != nil {
		return "", err
	}
	for path, text := range st.Memories {
		if _, err := api.Store(made.ID).Create(ctx, path, []byte(text)); err != nil {
			return "", fmt.Errorf("store %q: %w", st.Name, err)
		}
	}
	return made.ID, nil
}

// ErrScript says that a script is not one.
var ErrScript = errors.New("not a script to rehearse")

// Read reads a script in YAML.
func Read(in io.Reader) (Script, error) {
	decoder := yaml.NewDecoder(io.LimitReader(in, maxScript))
	decoder.KnownFields(true)
	var s Script
	if err := decoder.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("%w: %w", ErrScript, err)
	}
	if !slices.Contains([]string{"", local.EndTerminated, local.EndIdle}, s.End) {
		return Script{}, fmt.Errorf("%w: end is %s or %s", ErrScript, local.EndTerminated, local.EndIdle)
	}
	for i, c := range s.Calls {
		if (c.Tool == "") == (c.Bash == "") || c.Bash != "" && c.Input != nil {
			return Script{}, fmt.Errorf("%w: call %d: one of tool (with input) and bash is needed", ErrScript, i+1)
		}
	}
	for i, st := range s.Stores {
		if st.Name == "" {
			return Script{}, fmt.Errorf("%w: store %d has no name", ErrScript, i+1)
		}
	}
	return s, nil
}

// calls are the script's, with the paths of this rehearsal.
func (s Script) calls(root string) []local.ToolCall {
	calls := make([]local.ToolCall, len(s.Calls))
	for i, c := range s.Calls {
		calls[i] = local.ToolCall{Name: c.Tool, Input: moved(c.Input, local.DefaultMountRoot, root)}
		if c.Bash != "" {
			calls[i] = local.ToolCall{Name: "bash", Input: map[string]any{"command": strings.ReplaceAll(c.Bash, local.DefaultMountRoot, root)}}
		}
	}
	return calls
}

// moved is input with another directory in place of one.
func moved(input map[string]any, from, to string) map[string]any {
	input = maps.Clone(input)
	for name, value := range input {
		if text, ok := value.(string); ok {
			input[name] = strings.ReplaceAll(text, from, to)
		}
	}
	return input
}
