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

// Spec is one STORE[:PATH][:ro]; :rw is what goes without saying.
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

// errMode says that something stands where only a mode may.
var errMode = errors.New("the mode after a path is :ro or :rw; a path with a colon in its last name needs one of them behind it")

// errRelative says that what looks like a path is none.
var errRelative = errors.New("PATH must be absolute, STORE:/PATH; a store with such a name has to be named by its id")

// Parse reads a spec from the right, so that names may contain colons: a last
// ":ro" or ":rw", then what follows the last ":/", and the rest is the store. A
// path that itself contains ":/" cannot be written this way, nor a name that
// ends like a mode or a relative path: a typing error must not mount a store
// elsewhere or with other rights.
func Parse(text string) (Spec, error) {
	s := Spec{Store: text}
	before, mode, colon := cutLast(text)
	moded := colon && (mode == "ro" || mode == "rw")
	if moded {
		s.Store, s.ReadOnly = before, mode == "ro"
	}
	if i := strings.LastIndex(s.Store, ":/"); i >= 0 {
		s.Store, s.Path = s.Store[:i], s.Store[i+1:]
	}
	switch {
	case s.Store == "":
		return Spec{}, fmt.Errorf("%q is %w: no store named", text, ErrSyntax)
	case strings.HasPrefix(s.Store, "/"):
		return Spec{}, fmt.Errorf("%q is %w: the store comes before the path", text, ErrSyntax)
	case strings.ContainsRune(text, 0):
		return Spec{}, fmt.Errorf("%q is %w: a NUL byte", text, ErrSyntax)
	case colon && !moded && (likeMode(mode) || s.Path != "" && !strings.Contains(mode, "/")):
		return Spec{}, fmt.Errorf("%q: %w", text, errMode)
	case s.Path == "" && relative(s.Store):
		return Spec{}, fmt.Errorf("%q: %w", text, errRelative)
	case s.Path == "":
		return s, nil
	}
	s.Path = filepath.Clean(s.Path)
	if s.Path == "/" {
		return Spec{}, fmt.Errorf("%q: a store cannot be mounted over the root directory", text)
	}
	return s, nil
}

// cutLast splits text at its last colon.
func cutLast(text string) (before, after string, found bool) {
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

func likeMode(text string) bool {
	return strings.EqualFold(text, "ro") || strings.EqualFold(text, "rw")
}

// relative reports whether a store's name ends like a relative path.
func relative(name string) bool {
	_, path, colon := cutLast(name)
	return colon && (path == "" || path == "." || path == ".." || strings.Contains(path, "/"))
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
		return text + ":ro"
	}
	if _, last, colon := cutLast(text); colon && !strings.Contains(last, "/") {
		return text + ":rw" // or it would be read as a mode
	}
	return text
}
