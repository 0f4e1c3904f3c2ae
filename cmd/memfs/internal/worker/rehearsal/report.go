package rehearsal

import (
	"fmt"
	"slices"
	"strings"

	"memfs/store"
	"memfs/store/local"
)

// Report is what a rehearsal came to.
type Report struct {
	Calls  []CallReport  `json:"calls"`
	Stores []StoreReport `json:"stores"`

	root string
}

// CallReport is a tool call and what it answered.
type CallReport struct {
	Tool   string         `json:"tool"`
	Input  map[string]any `json:"input"`
	Answer string         `json:"answer"`
	Error  bool           `json:"error"`
}

// StoreReport is what became of a store.
type StoreReport struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Changes []Change `json:"changes"`
	// Memories is how many the store has in the end.
	Memories int `json:"memories"`

	before []store.Memory
}

// Change is what happened to one memory: "created", "updated", "renamed",
// "renamed and updated" or "deleted".
type Change struct {
	What string `json:"what"`
	Path string `json:"path"`
	// From is the path before a rename.
	From string `json:"from,omitzero"`
	// Size is the content's, in bytes; 0 for a deleted one.
	Size int64 `json:"size"`
}

func (r *Report) answers(answers []local.Answer) {
	for _, a := range answers {
		r.Calls = append(r.Calls, CallReport{
			Tool: a.Call.Name, Input: moved(a.Call.Input, r.root, local.DefaultMountRoot),
			Answer: strings.ReplaceAll(a.Text, r.root, local.DefaultMountRoot), Error: a.Error,
		})
	}
}

// compare finds what changed, by the memories' ids.
func (s *StoreReport) compare(after []store.Memory) {
	s.Memories = len(after)
	for _, m := range after {
		i := slices.IndexFunc(s.before, func(b store.Memory) bool { return b.ID == m.ID })
		change := Change{What: "created", Path: m.Path, Size: m.Size}
		if i >= 0 {
			was := s.before[i]
			renamed, updated := was.Path != m.Path, was.SHA != m.SHA
			switch {
			case renamed && updated:
				change.What, change.From = "renamed and updated", was.Path
			case renamed:
				change.What, change.From = "renamed", was.Path
			case updated:
				change.What = "updated"
			default:
				continue
			}
		}
		s.Changes = append(s.Changes, change)
	}
	for _, was := range s.before {
		if !slices.ContainsFunc(after, func(m store.Memory) bool { return m.ID == was.ID }) {
			s.Changes = append(s.Changes, Change{What: "deleted", Path: was.Path})
		}
	}
}

// String is the report for a reader.
func (r Report) String() string {
	var b strings.Builder
	for i, c := range r.Calls {
		fmt.Fprintf(&b, "%d. %s\n", i+1, c.title())
		answer := strings.Trim(c.Answer, "\n")
		if c.Error {
			answer = "error: " + answer
		}
		for line := range strings.Lines(answer + "\n") {
			b.WriteString("   | " + line)
		}
	}
	for _, s := range r.Stores {
		noun := "memories"
		if s.Memories == 1 {
			noun = "memory"
		}
		fmt.Fprintf(&b, "store %q: %d %s\n", s.Name, s.Memories, noun)
		for _, c := range s.Changes {
			b.WriteString("   " + c.String() + "\n")
		}
		if len(s.Changes) == 0 {
			b.WriteString("   unchanged\n")
		}
	}
	return b.String()
}

func (c Change) String() string {
	switch {
	case c.From != "":
		return fmt.Sprintf("%s %s -> %s (%d bytes, same id)", c.What, c.From, c.Path, c.Size)
	case c.What == "deleted":
		return c.What + " " + c.Path
	default:
		return fmt.Sprintf("%s %s (%d bytes)", c.What, c.Path, c.Size)
	}
}

// title is the call in a line.
func (c CallReport) title() string {
	for _, field := range []string{"command", "file_path", "path", "pattern"} {
		if text, ok := c.Input[field].(string); ok {
			return c.Tool + " " + strings.ReplaceAll(text, "\n", " \\ ")
		}
	}
	return c.Tool
}
