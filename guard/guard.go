package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Op is what a tool is about to do with a path.
type Op string

// The operations a Guard knows. Creating, editing and removing are writes.
const (
	Read  Op = "read"
	Write Op = "write"
)

// Root is a directory that tools may use, or a single file.
type Root struct {
	Path string
	// ReadOnly roots, and everything below them, refuse writes, also where
	// they lie inside a root that does not.
	ReadOnly bool
}

// Guard knows the roots of one session. It holds no state of the filesystem:
// links in paths and roots are followed anew on every call. It is safe for
// concurrent use.
type Guard struct {
	roots []Root
}

// New makes a Guard. The first root is the working directory: relative paths
// are taken from there. Roots without a path are left out. The root "/"
// permits everything that no read-only root refuses.
func New(roots ...Root) *Guard {
	g := &Guard{}
	for _, r := range roots {
		if r.Path != "" {
			g.roots = append(g.roots, r)
		}
	}
	return g
}

// OutsideError says that a path leads out of every root.
type OutsideError struct {
	// Path is the path as it was given.
	Path string
	// Others is set where there are roots besides the working directory.
	Others bool
}

func (e *OutsideError) Error() string {
	if e.Others {
		return fmt.Sprintf("%q lies outside the working directory and the other directories that tools may use", e.Path)
	}
	return fmt.Sprintf("%q lies outside the working directory", e.Path)
}

// ReadOnlyError says that a write would reach into a read-only root.
type ReadOnlyError struct {
	// Path is the path as it was given, Root the root as it was configured.
	Path, Root string
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("%s lies in the read-only directory %s", e.Path, e.Root)
}

// UnresolvedError says that a path could not be followed to where it leads (a
// loop of links, a directory that may not be searched). It is then refused,
// never used as it was given.
type UnresolvedError struct {
	// Path is the path as it was given.
	Path string
	// Cause is the operating system's error number.
	Cause error
}

func (e *UnresolvedError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Cause) }

// Unwrap gives the operating system's error.
func (e *UnresolvedError) Unwrap() error { return e.Cause }

// Check reports whether a tool may do op with path: nil, or *OutsideError,
// *ReadOnlyError or *UnresolvedError. The path need not exist. Between the
// check and the use the path can change; a Guard cannot prevent that.
//
// Behind a link, ".." leads elsewhere for a tool that cleans a path before the
// kernel follows it than for one that does not. Both have to be permitted.
func (g *Guard) Check(path string, op Op) error {
	target, err := resolve(g.absolute(path))
	if err != nil {
		return &UnresolvedError{Path: path, Cause: err}
	}
	if err := g.checkTarget(path, target, op); err != nil || !upwards(path) {
		return err
	}
	target, err = resolve(g.joined(path))
	switch {
	case errors.Is(err, fs.ErrNotExist): // so it is for the kernel
		return nil
	case err != nil:
		return &UnresolvedError{Path: path, Cause: err}
	}
	return g.checkTarget(path, target, op)
}

// upwards reports whether ".." is in a path.
func upwards(path string) bool { return slices.Contains(strings.Split(path, "/"), "..") }

// checkTarget is Check for where a path leads.
func (g *Guard) checkTarget(path, target string, op Op) error {
	permitted := false
	for _, r := range g.roots {
		root, err := resolve(g.absolute(r.Path))
		if err != nil || !within(target, root) {
			// A root that leads nowhere grants nothing. It need not protect
			// anything either: a path through its name leads nowhere as well.
			continue
		}
		if r.ReadOnly && op != Read {
			return &ReadOnlyError{Path: path, Root: r.Path}
		}
		permitted = true
	}
	if !permitted {
		return &OutsideError{Path: path, Others: len(g.roots) > 1}
	}
	return nil
}

// absolute cleans a path lexically, as a tool does before the kernel follows
// any link.
func (g *Guard) absolute(path string) string {
	if !filepath.IsAbs(path) && len(g.roots) > 0 {
		path = filepath.Join(g.roots[0].Path, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// joined is absolute for what does not clean paths.
func (g *Guard) joined(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return g.absolute(".") + "/" + path
}

// within reports whether path is root or lies below it, by whole names.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}
