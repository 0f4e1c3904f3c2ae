package store

import (
	"context"
	"time"
)

// Reader reads one store. It is all that a read-only attachment gets: a type
// without write methods cannot write (R10).
//
// Every method makes exactly one request and returns the errors of this
// package. Implementations are safe for concurrent use.
type Reader interface {
	// Info describes the store.
	Info(ctx context.Context) (Info, error)
	// List returns one page of the store's memories.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	// Get returns one memory with its content.
	Get(ctx context.Context, id string) (Memory, error)
	// Versions returns one page of the store's history, newest first.
	Versions(ctx context.Context, q VersionQuery) (VersionPage, error)
	// Version returns one version with its content.
	Version(ctx context.Context, id string) (Version, error)
}

// Client reads and writes one store.
type Client interface {
	Reader
	// Create makes a new memory; it never overwrites (*PathConflictError).
	Create(ctx context.Context, path string, content []byte) (Memory, error)
	// Update changes content, path or both. It fails with ErrPrecondition
	// where the memory's content is not u.Expect, unless content and path
	// already are what is asked for: that makes a repeated update safe.
	Update(ctx context.Context, id string, u Update) (Memory, error)
	// Delete removes a memory whose content is expect. A memory that is
	// already gone is ErrNotFound.
	Delete(ctx context.Context, id string, expect SHA) error
}

// The API's page sizes: a full view returns fewer items whatever was asked.
const (
	MaxBasicPage = 100
	MaxFullPage  = 20
)

// ListQuery selects memories. The zero value is the first page of the whole
// store in the basic view.
type ListQuery struct {
	// Prefix is "" or ends with a slash; whole segments match.
	Prefix string
	// Children lists direct children only; deeper memories stand as one
	// prefix for each child directory (the API's depth=1).
	Children bool
	// Full asks for contents, at most MaxFullPage a page.
	Full bool
	// Page is the cursor of the page before; "" is the first page.
	Page string
}

// ListPage is one page of a listing.
type ListPage struct {
	Memories []Memory
	// Prefixes are the child directories of a Children listing, each with a
	// slash at the end.
	Prefixes []string
	// Next is the next page's cursor; "" after the last page. A page may be
	// empty and still have a next one.
	Next string
}

// VersionQuery selects versions, newest first. The zero value is the newest
// page of the whole store in the basic view.
type VersionQuery struct {
	// MemoryID limits the answer to one memory; "" means all.
	MemoryID string
	// Since leaves out what is older; the bound is inclusive, zero is none.
	Since time.Time
	// Full asks for contents, at most MaxFullPage a page.
	Full bool
	// Limit bounds the page; 0 is the largest the API allows.
	Limit int
	// Page is the cursor of the page before; "" is the first page.
	Page string
}

// VersionPage is one page of a store's history.
type VersionPage struct {
	Versions []Version
	// Next is the next page's cursor; "" after the last page.
	Next string
}

// Update is a change to one memory. A nil field is left as it is; at least
// one must be set.
type Update struct {
	Content *[]byte
	Path    *string
	// Expect is the hash of the memory's present content; required, also for
	// a pure rename.
	Expect SHA
}
