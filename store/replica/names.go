package replica

import (
	"errors"
	"strings"

	"memfs/store"
)

// checkName turns a name into the form it is kept in (R12) and applies the
// rules for new names (R11).
func checkName(name string) (string, error) {
	name = store.NormalName(name)
	err := store.CheckName(name)
	switch {
	case err == nil:
		return name, nil
	case errors.Is(err, store.ErrPathTooLong):
		return "", ErrNameTooLong
	default:
		return "", ErrNameIllegal
	}
}

// checkDepth applies the limits on whole paths to a node and all below it, as
// if it stood under dir with a name (R11).
func checkDepth(dir *node, name string, n *node) error {
	segments := 1
	for m := dir; m.parent != nil; m = m.parent {
		segments++
	}
	return checkBelow(n, segments, len(dir.path())+1+len(name))
}

func checkBelow(n *node, segments, length int) error {
	if segments > store.MaxSegments || length > store.MaxPath {
		return ErrNameTooLong
	}
	if n == nil {
		return nil
	}
	for _, child := range n.entries {
		if err := checkBelow(child, segments+1, length+1+len(child.name)); err != nil {
			return err
		}
	}
	return nil
}

// scratchAt reports whether a file of that name in dir is local only by its
// name and place. During a rename it is asked before anything moves.
func (r *Replica) scratchAt(dir *node, name string) bool {
	return r.tree.scratch.Match(dir.path() + "/" + name)
}

// parentPath is the path of the directory that a path of the store lies in;
// "" for the root.
func parentPath(path string) string { return path[:strings.LastIndexByte(path, '/')] }
