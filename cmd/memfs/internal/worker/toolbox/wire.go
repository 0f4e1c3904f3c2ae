package toolbox

import "encoding/json"

// setup is the first value that the child reads.
type setup struct {
	Workdir                     string
	AllowedRoots, ReadOnlyRoots []string
	// Skills is a directory with a directory for each skill; "" is none.
	Skills string
	Umask  int
}

// order is each further value: a call of a tool, or the end of one.
type order struct {
	ID     uint64
	Tool   string          `json:",omitzero"`
	Input  json.RawMessage `json:",omitzero"`
	Cancel bool            `json:",omitzero"`
}

// answer answers the setup (ID 0) and each call.
type answer struct {
	ID      uint64
	Content json.RawMessage `json:",omitzero"`
	Error   string          `json:",omitzero"`
}
