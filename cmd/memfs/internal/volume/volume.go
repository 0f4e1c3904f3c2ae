package volume

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// DefaultRoot is the directory under which stores are mounted where nothing
// else is said: the one that a session's system prompt tells the agent.
const DefaultRoot = "/mnt/memory"

// Spec is one STORE[:PATH][:ro].
type Spec struct {
	// Store is an id or a name, as given.
	Store string
	// Path is the mount path, absolute and clean; "" asks for the default.
	Path string
	// ReadOnly attaches the store without the right to write.
	ReadOnly bool
}

// ErrSyntax says that a spec is not STORE[:PATH][:ro].
var ErrSyntax = errors.New("not of the form STORE[:PATH][:ro]")

// Parse reads a spec from the right, so that names may contain colons: a last
// ":ro", then what follows the last ":/", and the rest is the store. A path
// that itself contains ":/" cannot be written this way.
func Parse(text string) (Spec, error) {
	rest, readOnly := strings.CutSuffix(text, ":ro")
	s := Spec{Store: rest, ReadOnly: readOnly}
	if i := strings.LastIndex(rest, ":/"); i >= 0 {
		s.Store, s.Path = rest[:i], filepath.Clean(rest[i+1:])
	}
	switch {
	case s.Store == "":
		return Spec{}, fmt.Errorf("%q is %w: no store named", text, ErrSyntax)
	case strings.HasPrefix(s.Store, "/"):
		return Spec{}, fmt.Errorf("%q is %w: the store comes before the path", text, ErrSyntax)
	case strings.ContainsRune(text, 0):
		return Spec{}, fmt.Errorf("%q is %w: a NUL byte", text, ErrSyntax)
	case s.Path == "/":
		return Spec{}, fmt.Errorf("%q: a store cannot be mounted over the root directory", text)
	}
	return s, nil
}

// ParseAll reads one spec or more.
func ParseAll(texts []string) ([]Spec, error) {
	specs := make([]Spec, 0, len(texts))
	for _, text := range texts {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// String is the text that Parse reads as s.
func (s Spec) String() string {
	text := s.Store
	if s.Path != "" {
		text += ":" + s.Path
	}
	if s.ReadOnly {
		text += ":ro"
	}
	return text
}
