package local

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

	"memfs/store"
)

// memoryObject is a memory as the API writes it; Content is nil in the basic
// view.
type memoryObject struct {
	Type             string  `json:"type"`
	ID               string  `json:"id"`
	MemoryStoreID    string  `json:"memory_store_id"`
	MemoryVersionID  string  `json:"memory_version_id"`
	Path             string  `json:"path"`
	Content          *string `json:"content"`
	ContentSHA256    string  `json:"content_sha256"`
	ContentSizeBytes int64   `json:"content_size_bytes"`
	CreatedAt        stamp   `json:"created_at"`
	UpdatedAt        stamp   `json:"updated_at"`
}

// The columns of a memory in each view, of a table expression to go with them.
const (
	basicMemory = "m.id, m.store, m.version, m.path, m.sha, m.size, m.created, m.updated, NULL FROM memories m"
	fullMemory  = "m.id, m.store, m.version, m.path, m.sha, m.size, m.created, m.updated, v.content FROM memories m JOIN versions v ON v.id = m.version"
)

func (s *Server) routeMemories(mux *http.ServeMux) {
	const all = "/v1/memory_stores/{store}/memories"
	mux.Handle("GET "+all, s.serveMemory(s.listMemories))
	mux.Handle("POST "+all, s.serveMemory(s.createMemory))
	mux.Handle("GET "+all+"/{memory}", s.serveMemory(s.getMemory))
	mux.Handle("POST "+all+"/{memory}", s.serveMemory(s.updateMemory))
	mux.Handle("DELETE "+all+"/{memory}", s.serveMemory(s.deleteMemory))
}

func (s *Server) createMemory(c *call) (any, error) {
	var body struct {
		Path    *string `json:"path"`
		Content *string `json:"content"`
	}
	full, err := c.full(false)
	if err != nil {
		return nil, err
	}
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	if body.Path == nil || body.Content == nil {
		return nil, invalid("path and content are required")
	}
	if err := s.check(body.Path, body.Content); err != nil {
		return nil, err
	}
	m := memoryObject{Type: "memory", ID: "mem_" + rand.Text(), MemoryStoreID: c.storeID(), Path: *body.Path}
	m.setContent(*body.Content)
	err = s.write(c.context(), func(tx *sql.Tx) error {
		st, err := loadWritable(tx, m.MemoryStoreID)
		if err != nil {
			return err
		}
		if err := checkFree(tx, m); err != nil {
			return err
		}
		if st.memories >= s.options.MaxMemories {
			return fmt.Errorf("%w: %d memories", store.ErrFull, st.memories)
		}
		return s.record(tx, st, store.Created, &m, c.actor)
	})
	return m.view(full), err
}

func (s *Server) getMemory(c *call) (any, error) {
	full, err := c.full(true)
	if err != nil {
		return nil, err
	}
	var m memoryObject
	err = s.read(c.context(), func(tx *sql.Tx) (err error) {
		if _, err := loadStore(tx, c.storeID()); err != nil {
			return err
		}
		m, err = loadMemory(tx, c)
		return err
	})
	return m.view(full), err
}

func (s *Server) updateMemory(c *call) (any, error) {
	var body struct {
		Path         *string       `json:"path"`
		Content      *string       `json:"content"`
		Precondition *precondition `json:"precondition"`
	}
	full, err := c.full(false)
	if err != nil {
		return nil, err
	}
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	if body.Path == nil && body.Content == nil {
		return nil, invalid("content or path is required")
	}
	if err := s.check(body.Path, body.Content); err != nil {
		return nil, err
	}
	if err := body.Precondition.check(); err != nil {
		return nil, err
	}
	var m memoryObject
	err = s.write(c.context(), func(tx *sql.Tx) error {
		st, err := loadWritable(tx, c.storeID())
		if err != nil {
			return err
		}
		if m, err = loadMemory(tx, c); err != nil {
			return err
		}
		before := m
		if body.Path != nil {
			m.Path = *body.Path
		}
		if body.Content != nil {
			m.setContent(*body.Content)
		}
		if m.Path == before.Path && m.ContentSHA256 == before.ContentSHA256 {
			return nil
		}
		if !body.Precondition.holds(before) {
			return store.ErrPrecondition
		}
		if m.Path != before.Path {
			if err := checkFree(tx, m); err != nil {
				return err
			}
		}
		return s.record(tx, st, store.Modified, &m, c.actor)
	})
	return m.view(full), err
}

func (s *Server) deleteMemory(c *call) (any, error) {
	var expect *precondition
	if sha := c.query.Get("expected_content_sha256"); sha != "" {
		expect = &precondition{Type: contentSHA256, ContentSHA256: sha}
	}
	if err := expect.check(); err != nil {
		return nil, err
	}
	err := s.write(c.context(), func(tx *sql.Tx) error {
		st, err := loadStore(tx, c.storeID())
		if err != nil {
			return err
		}
		m, err := loadMemory(tx, c)
		if err != nil {
			return err
		}
		if !expect.holds(m) {
			return store.ErrPrecondition
		}
		return s.record(tx, st, store.Deleted, &m, c.actor)
	})
	return deletedObject{Type: "memory_deleted", ID: c.memoryID()}, err
}

// check applies the rules for what a request sets; nil is left as it is.
func (s *Server) check(path, content *string) error {
	if path != nil {
		if err := store.CheckPath(*path); err != nil {
			return err
		}
		if len(*path) > s.options.MaxPath {
			return fmt.Errorf("%w: %d bytes, at most %d", store.ErrPathTooLong, len(*path), s.options.MaxPath)
		}
	}
	if content != nil {
		if len(*content) > s.options.MaxContent {
			return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, len(*content), s.options.MaxContent)
		}
		return store.CheckContent([]byte(*content))
	}
	return nil
}

// loadWritable loads a store that takes creates and updates.
func loadWritable(tx *sql.Tx, id string) (storeObject, error) {
	st, err := loadStore(tx, id)
	if err == nil && st.ArchivedAt != nil {
		err = fmt.Errorf("%w: %s", store.ErrArchived, id)
	}
	return st, err
}

// loadMemory loads the memory that a call names, with its content.
func loadMemory(tx *sql.Tx, c *call) (memoryObject, error) {
	m, err := scanMemory(tx.QueryRow("SELECT "+fullMemory+" WHERE m.id = ? AND m.store = ?", c.memoryID(), c.storeID()))
	if errors.Is(err, sql.ErrNoRows) {
		return m, unknown("memory", c.memoryID())
	}
	return m, err
}

func scanMemory(r row) (memoryObject, error) {
	m := memoryObject{Type: "memory"}
	err := r.Scan(&m.ID, &m.MemoryStoreID, &m.MemoryVersionID, &m.Path, &m.ContentSHA256, &m.ContentSizeBytes, &m.CreatedAt, &m.UpdatedAt, &m.Content)
	return m, err
}

func (m *memoryObject) setContent(content string) {
	m.Content = &content
	m.ContentSHA256 = store.Hash([]byte(content)).String()
	m.ContentSizeBytes = int64(len(content))
}

func (m memoryObject) view(full bool) memoryObject {
	if !full {
		m.Content = nil
	}
	return m
}
