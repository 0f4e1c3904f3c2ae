package local

import (
	"context"
	"database/sql"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"memfs/store"
)

// Limits of a session's stores.
const (
	maxStores       = 8
	maxInstructions = 4_096
)

// The kinds of access to a store.
const (
	readWrite = "read_write"
	readOnly  = "read_only"
)

// Attachment is a store to be attached to a session.
type Attachment struct {
	// Store is the store's id.
	Store string
	// ReadOnly refuses changes with the session's token.
	ReadOnly bool
	// Instructions tell the agent what the store is for.
	Instructions string
	// MountPath replaces the path that comes of the store's name, for tests of
	// what a worker makes of odd ones; "" in it stands for none at all.
	MountPath *string
}

// resource is an attached store as the API writes it. What is said of the store
// is as it was when the session was made.
type resource struct {
	Type          string  `json:"type"`
	MemoryStoreID string  `json:"memory_store_id"`
	Access        string  `json:"access"`
	Name          string  `json:"name"`
	Description   string  `json:"description"`
	Instructions  *string `json:"instructions"`
	MountPath     *string `json:"mount_path"`
}

// attach makes the resources of a new session.
func (s *Server) attach(ctx context.Context, stores []Attachment) ([]resource, error) {
	if len(stores) > maxStores {
		return nil, invalid("%d memory stores, at most %d", len(stores), maxStores)
	}
	resources := make([]resource, len(stores))
	err := s.read(ctx, func(tx *sql.Tx) error {
		seen := make(map[string]bool)
		for i, at := range stores {
			st, err := loadStore(tx, at.Store)
			if err != nil {
				return err
			}
			if st.ArchivedAt != nil {
				return fmt.Errorf("%w: %s", store.ErrArchived, st.ID)
			}
			if seen[st.ID] {
				return invalid("store %s is attached twice", st.ID)
			}
			seen[st.ID] = true
			if n := utf8.RuneCountInString(at.Instructions); n > maxInstructions {
				return invalid("instructions have %d characters, at most %d", n, maxInstructions)
			}
			resources[i] = at.resource(st, s.options.MountRoot)
		}
		return nil
	})
	return resources, err
}

func (at Attachment) resource(st storeObject, root string) resource {
	r := resource{Type: "memory_store", MemoryStoreID: st.ID, Access: readWrite, Name: st.Name, Description: st.Description}
	if at.ReadOnly {
		r.Access = readOnly
	}
	if at.Instructions != "" {
		r.Instructions = &at.Instructions
	}
	switch {
	case at.MountPath == nil:
		mount := path.Join(root, slug(st))
		r.MountPath = &mount
	case *at.MountPath != "":
		r.MountPath = at.MountPath
	}
	return r
}

// slug is the name of the directory that a store is mounted at: its name in
// lower case, with a hyphen for every run of characters that are not ASCII
// letters or digits. The API does not say what becomes of hyphens at the ends
// (here: nothing), nor of a name without such characters (here: the id).
func slug(st storeObject) string {
	words := strings.FieldsFunc(strings.ToLower(st.Name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if len(words) == 0 {
		return st.ID
	}
	return strings.Join(words, "-")
}
