package replica

import (
	"errors"
	"fmt"

	"memfs/store"
)

// Here tells which of some texts, by their hashes, are on this host: in a file
// with or without a name, or as an object.
func (r *Replica) Here(shas []store.SHA) map[store.SHA]bool {
	r.mu.Lock()
	files := make(map[store.SHA]bool, len(r.tree.nodes))
	for _, n := range r.tree.nodes {
		for _, c := range []*content{&n.content, n.before} {
			if c != nil {
				files[c.hash()] = true
			}
		}
	}
	r.mu.Unlock()
	here := make(map[store.SHA]bool)
	for _, sha := range shas {
		if files[sha] || r.objects.Has(sha) {
			here[sha] = true
		}
	}
	return here
}

// Redact takes a text off this host that was redacted in the store (R19): from
// the conflict area, the objects, the journal, and the files without a name that
// a remote change left to those who have them open, which read EIO from now on.
// A file that has the text under a name keeps it: it is a local edit, or the
// store has the text elsewhere.
func (r *Replica) Redact(sha store.SHA) error {
	err := r.area.Redact(sha)
	named := r.blank(sha)
	if !named {
		err = errors.Join(err, r.objects.Remove(sha))
	}
	err = errors.Join(err, r.Checkpoint())
	if err != nil {
		return fmt.Errorf("purge a redacted text: %w", err)
	}
	return nil
}

// blank takes a text from the files that have no name, and reports whether one
// with a name has it.
func (r *Replica) blank(sha store.SHA) (named bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.tree.nodes {
		if n.before != nil && n.before.hash() == sha {
			n.before = nil
		}
		if n.dir || n.content.size == 0 || n.content.hash() != sha {
			continue
		}
		_, waited := r.tree.strays[n.ino]
		switch {
		case n.linked():
			named = true
		case !waited: // a stray goes to the conflict area, which refuses it
			n.content = content{sha: sha, hashed: true, size: n.content.size}
		}
	}
	return named
}
