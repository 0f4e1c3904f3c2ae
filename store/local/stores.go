package local

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"memfs/store"
)

// storeObject is a memory_store as the API writes it.
type storeObject struct {
	Type        string            `json:"type"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	CreatedAt   stamp             `json:"created_at"`
	UpdatedAt   stamp             `json:"updated_at"`
	ArchivedAt  *stamp            `json:"archived_at"`

	latest   stamp
	memories int
}

// deletedObject is the answer to a delete.
type deletedObject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

const storeColumns = "id, name, description, metadata, created, updated, archived, latest, memories"

func (s *Server) routeStores(mux *http.ServeMux) {
	mux.Handle("POST /v1/memory_stores", s.serveStores(s.createStore))
	mux.Handle("GET /v1/memory_stores", s.serveStores(s.listStores))
	mux.Handle("GET /v1/memory_stores/{store}", s.serveMemory(s.getStore))
	mux.Handle("POST /v1/memory_stores/{store}", s.serveStores(s.updateStore))
	mux.Handle("DELETE /v1/memory_stores/{store}", s.serveStores(s.deleteStore))
	mux.Handle("POST /v1/memory_stores/{store}/archive", s.serveStores(s.archiveStore))
}

// storeBody is what a request says of a store; nil is left as it is.
type storeBody struct {
	Name        *string            `json:"name"`
	Description *string            `json:"description"`
	Metadata    map[string]*string `json:"metadata"` // a nil value removes the key
}

func (b storeBody) apply(st *storeObject) {
	if b.Name != nil {
		st.Name = *b.Name
	}
	if b.Description != nil {
		st.Description = *b.Description
	}
	for key, value := range b.Metadata {
		if value == nil {
			delete(st.Metadata, key)
		} else {
			st.Metadata[key] = *value
		}
	}
}

func (s *Server) createStore(c *call) (any, error) {
	var body storeBody
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	now := stamp(s.options.Now().UnixMicro())
	st := storeObject{
		Type: "memory_store", ID: "memstore_" + rand.Text(), Metadata: make(map[string]string),
		CreatedAt: now, UpdatedAt: now, latest: now,
	}
	body.apply(&st)
	if err := st.check(); err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(st.Metadata)
	if err != nil {
		return nil, fmt.Errorf("store metadata: %w", err)
	}
	return st, s.write(c.context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO stores ("+storeColumns+") VALUES (?, ?, ?, ?, ?, ?, NULL, ?, 0)",
			st.ID, st.Name, st.Description, string(metadata), now, now, now)
		return err
	})
}

func (s *Server) getStore(c *call) (any, error) {
	var st storeObject
	err := s.read(c.context(), func(tx *sql.Tx) (err error) {
		st, err = loadStore(tx, c.storeID())
		return err
	})
	return st, err
}

func (s *Server) updateStore(c *call) (any, error) {
	var body storeBody
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	return s.changeStore(c, func(st *storeObject) error {
		if st.ArchivedAt != nil {
			return fmt.Errorf("%w: %s", store.ErrArchived, st.ID)
		}
		body.apply(st)
		return st.check()
	})
}

func (s *Server) archiveStore(c *call) (any, error) {
	if err := c.decodeNothing(); err != nil {
		return nil, err
	}
	return s.changeStore(c, func(st *storeObject) error {
		if st.ArchivedAt == nil {
			now := s.next(*st)
			st.ArchivedAt = &now
		}
		return nil
	})
}

// changeStore applies change to a store. updated_at moves if something did.
func (s *Server) changeStore(c *call, change func(*storeObject) error) (any, error) {
	var st storeObject
	err := s.write(c.context(), func(tx *sql.Tx) (err error) {
		if st, err = loadStore(tx, c.storeID()); err != nil {
			return err
		}
		before := st
		before.Metadata = maps.Clone(st.Metadata)
		if err := change(&st); err != nil {
			return err
		}
		if st.equal(before) {
			return nil
		}
		st.UpdatedAt = s.next(before)
		metadata, err := json.Marshal(st.Metadata)
		if err != nil {
			return fmt.Errorf("store metadata: %w", err)
		}
		_, err = tx.Exec("UPDATE stores SET name = ?, description = ?, metadata = ?, updated = ?, archived = ?, latest = ? WHERE id = ?",
			st.Name, st.Description, string(metadata), st.UpdatedAt, st.ArchivedAt, st.UpdatedAt, st.ID)
		return err
	})
	return st, err
}

func (s *Server) deleteStore(c *call) (any, error) {
	id := c.storeID()
	err := s.write(c.context(), func(tx *sql.Tx) error {
		if _, err := loadStore(tx, id); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM stores WHERE id = ?", id)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.scrub()
	return deletedObject{Type: "memory_store_deleted", ID: id}, nil
}

func (s *Server) listStores(c *call) (any, error) {
	limit, err := c.limit(false)
	if err != nil {
		return nil, err
	}
	archived, err := c.flag("include_archived")
	if err != nil {
		return nil, err
	}
	var where condition
	if err := c.between(&where); err != nil {
		return nil, err
	}
	if !archived {
		where.and("archived IS NULL")
	}
	list := "stores" + where.name()
	after, err := c.after(list)
	if err != nil {
		return nil, err
	}
	if created, id, ok := strings.Cut(after, " "); ok {
		micros, err := strconv.ParseInt(created, 10, 64)
		if err != nil {
			return nil, invalid("page is not a cursor of this server")
		}
		where.and("(created, id) < (?, ?)", micros, id)
	}
	var stores []storeObject
	err = s.read(c.context(), func(tx *sql.Tx) error {
		rows, err := tx.Query(storeQuery(where), append(where.args, limit+1)...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			st, err := scanStore(rows)
			if err != nil {
				return err
			}
			stores = append(stores, st)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return pageOf(stores, limit, list, func(st storeObject) string {
		return fmt.Sprintf("%d %s", st.CreatedAt, st.ID)
	}), nil
}

// storeQuery selects stores, newest first; its last argument is how many.
func storeQuery(where condition) string {
	return "SELECT " + storeColumns + " FROM stores" + where.sql + " ORDER BY created DESC, id DESC LIMIT ?"
}

func loadStore(tx *sql.Tx, id string) (storeObject, error) {
	st, err := scanStore(tx.QueryRow("SELECT "+storeColumns+" FROM stores WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return st, unknown("memory_store", id)
	}
	return st, err
}

// row is a *sql.Row or a *sql.Rows.
type row interface{ Scan(...any) error }

func scanStore(r row) (storeObject, error) {
	st := storeObject{Type: "memory_store"}
	var metadata string
	if err := r.Scan(&st.ID, &st.Name, &st.Description, &metadata, &st.CreatedAt, &st.UpdatedAt, &st.ArchivedAt, &st.latest, &st.memories); err != nil {
		return st, err
	}
	if err := json.Unmarshal([]byte(metadata), &st.Metadata); err != nil {
		return st, fmt.Errorf("store %s: metadata: %w", st.ID, err)
	}
	return st, nil
}

// next returns the time of the next change in a store: now, but always later
// than anything before it, whatever the clock does.
func (s *Server) next(st storeObject) stamp {
	return max(stamp(s.options.Now().UnixMicro()), st.latest+1)
}

func (st storeObject) equal(other storeObject) bool {
	return st.Name == other.Name && st.Description == other.Description &&
		maps.Equal(st.Metadata, other.Metadata) && (st.ArchivedAt == nil) == (other.ArchivedAt == nil)
}
