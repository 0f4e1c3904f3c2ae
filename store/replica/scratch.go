package replica

import (
	"fmt"
	"path"
	"strings"
)

// Patterns say which names are local only and never sent (R17). A pattern
// that ends with a slash is for directories and covers all below them, one
// without is for files; both match a single name, with path.Match.
type Patterns []string

// DefaultScratch are the names that operating systems, editors and tools leave
// behind and nobody wants in a memory store.
func DefaultScratch() Patterns {
	return Patterns{".git/", ".Trashes/", ".Trashes", ".DS_Store", "._*", ".fuse_hidden*", ".nfs*",
		".*.sw?", "4913", "*~", ".#*", "#*#", ".agenttoolset-*"}
}

// Check reports the first pattern that cannot be understood.
func (p Patterns) Check() error {
	for _, pattern := range p {
		name := strings.TrimSuffix(pattern, "/")
		if _, err := path.Match(name, "x"); err != nil || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%w: scratch pattern %q: one name, with * ? [ ] as wildcards", ErrInvalid, pattern)
		}
	}
	return nil
}

// Match reports whether the file at a path is local only by its name or by a
// directory above it.
func (p Patterns) Match(file string) bool {
	rest := strings.TrimPrefix(file, "/")
	for dir := true; dir; {
		var name string
		if name, rest, dir = strings.Cut(rest, "/"); p.matchName(name, dir) {
			return true
		}
	}
	return false
}

func (p Patterns) matchName(name string, dir bool) bool {
	for _, pattern := range p {
		base, forDirs := strings.CutSuffix(pattern, "/")
		if forDirs != dir {
			continue
		}
		if ok, _ := path.Match(base, name); ok {
			return true
		}
	}
	return false
}
