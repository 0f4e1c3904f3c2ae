package local

import "memfs/store"

// contentSHA256 is the only kind of precondition that the API knows.
const contentSHA256 = "content_sha256"

// precondition is what a change expects of a memory's present content; nil
// expects nothing.
type precondition struct {
	Type          string `json:"type"`
	ContentSHA256 string `json:"content_sha256"`
}

func (p *precondition) check() error {
	switch {
	case p == nil:
		return nil
	case p.Type != contentSHA256:
		return invalid("precondition type %q is not %s", p.Type, contentSHA256)
	}
	if sha, err := store.ParseSHA(p.ContentSHA256); err != nil || sha.String() != p.ContentSHA256 {
		return invalid("precondition: %q is not 64 lower-case hex digits", p.ContentSHA256)
	}
	return nil
}

func (p *precondition) holds(m memoryObject) bool {
	return p == nil || p.ContentSHA256 == m.ContentSHA256
}
