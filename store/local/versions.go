package local

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"memfs/store"
)

// versionObject is a memory_version as the API writes it.
type versionObject struct {
	Type             string       `json:"type"`
	ID               string       `json:"id"`
	MemoryStoreID    string       `json:"memory_store_id"`
	MemoryID         string       `json:"memory_id"`
	Operation        string       `json:"operation"`
	Path             *string      `json:"path"`
	Content          *string      `json:"content"`
	ContentSHA256    *string      `json:"content_sha256"`
	ContentSizeBytes *int64       `json:"content_size_bytes"`
	CreatedAt        stamp        `json:"created_at"`
	CreatedBy        *actorObject `json:"created_by"`
	RedactedAt       *stamp       `json:"redacted_at"`
	RedactedBy       *actorObject `json:"redacted_by"`
}

// actorObject is an actor as the API writes it: one id, in the field that goes
// with the type.
type actorObject struct {
	Type             string `json:"type"`
	SessionID        string `json:"session_id,omitzero"`
	APIKeyID         string `json:"api_key_id,omitzero"`
	UserID           string `json:"user_id,omitzero"`
	ServiceAccountID string `json:"service_account_id,omitzero"`
}

const versionColumns = "id, store, memory, operation, path, sha, size, created, actor_type, actor_id, redacted, redactor_type, redactor_id"

func (s *Server) routeVersions(mux *http.ServeMux) {
	const all = "/v1/memory_stores/{store}/memory_versions"
	mux.Handle("GET "+all, s.serveMemory(s.listVersions))
	mux.Handle("GET "+all+"/{version}", s.serveMemory(s.getVersion))
	mux.Handle("POST "+all+"/{version}/redact", s.serveMemory(s.redactVersion))
}

// record makes one change of a memory durable: its version, its row and the
// store's own bookkeeping. It sets the memory's version and times.
func (s *Server) record(tx *sql.Tx, st storeObject, op store.Operation, m *memoryObject, by store.Actor) error {
	now := s.next(st)
	m.MemoryVersionID, m.UpdatedAt = "memver_"+rand.Text(), now
	var sha, size, content any = m.ContentSHA256, m.ContentSizeBytes, []byte(*m.Content)
	count, change := 0, "UPDATE memories SET version = :version, path = :path, sha = :sha, size = :size, updated = :now WHERE id = :id"
	switch op {
	case store.Created:
		m.CreatedAt = now
		count, change = 1, "INSERT INTO memories (id, store, version, path, sha, size, created, updated) VALUES (:id, :store, :version, :path, :sha, :size, :now, :now)"
	case store.Deleted:
		sha, size, content = nil, nil, nil
		count, change = -1, "DELETE FROM memories WHERE id = :id"
	}
	args := []any{
		sql.Named("id", m.ID), sql.Named("store", st.ID), sql.Named("version", m.MemoryVersionID), sql.Named("path", m.Path),
		sql.Named("sha", sha), sql.Named("size", size), sql.Named("now", now), sql.Named("content", content),
		sql.Named("op", string(op)), sql.Named("by_type", by.Type), sql.Named("by_id", by.ID), sql.Named("count", count),
	}
	for _, statement := range []string{
		"INSERT INTO versions (" + versionColumns + ", content) VALUES (:version, :store, :id, :op, :path, :sha, :size, :now, :by_type, :by_id, NULL, NULL, NULL, :content)",
		change,
		"UPDATE stores SET latest = :now, memories = memories + :count WHERE id = :store",
	} {
		if _, err := tx.Exec(statement, args...); err != nil {
			return fmt.Errorf("record a change: %w", err)
		}
	}
	return nil
}

func (s *Server) getVersion(c *call) (any, error) {
	full, err := c.full(true)
	if err != nil {
		return nil, err
	}
	var v versionObject
	err = s.read(c.context(), func(tx *sql.Tx) (err error) {
		v, err = loadVersion(tx, c)
		return err
	})
	if !full {
		v.Content = nil
	}
	return v, err
}

// redactVersion removes the text, hash, size and path of a version that is not
// the head of a living memory. To repeat it changes nothing.
func (s *Server) redactVersion(c *call) (any, error) {
	if err := c.decodeNothing(); err != nil {
		return nil, err
	}
	var v versionObject
	err := s.write(c.context(), func(tx *sql.Tx) (err error) {
		if v, err = loadVersion(tx, c); err != nil || v.RedactedAt != nil {
			return err
		}
		var head int
		err = tx.QueryRow("SELECT count(*) FROM memories WHERE id = ? AND version = ?", v.MemoryID, v.ID).Scan(&head)
		if err != nil {
			return err
		}
		if head > 0 {
			return invalid("%s is the current version of %s: only older versions can be redacted", v.ID, v.MemoryID)
		}
		now := stamp(s.options.Now().UnixMicro())
		_, err = tx.Exec("UPDATE versions SET path = NULL, content = NULL, sha = NULL, size = NULL, redacted = ?, redactor_type = ?, redactor_id = ? WHERE id = ?",
			now, c.actor.Type, c.actor.ID, v.ID)
		if err != nil {
			return err
		}
		v, err = loadVersion(tx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.scrub()
	return v, nil
}

// scrub empties the write-ahead log, which may still hold removed text. Where
// a reader keeps it from that, the next one does it.
func (s *Server) scrub() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.db.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		s.options.Log.Warn("write-ahead log not emptied after a removal", zap.String("code", "local_store"), zap.Error(err))
	}
}

// loadVersion loads the version that a call names, with its content.
func loadVersion(tx *sql.Tx, c *call) (versionObject, error) {
	if _, err := loadStore(tx, c.storeID()); err != nil {
		return versionObject{}, err
	}
	v, err := scanVersion(tx.QueryRow("SELECT "+versionColumns+", content FROM versions WHERE id = ? AND store = ?", c.versionID(), c.storeID()))
	if errors.Is(err, sql.ErrNoRows) {
		return v, unknown("memory_version", c.versionID())
	}
	return v, err
}

func scanVersion(r row) (versionObject, error) {
	v := versionObject{Type: "memory_version"}
	var by store.Actor
	var redactorType, redactorID sql.NullString
	err := r.Scan(&v.ID, &v.MemoryStoreID, &v.MemoryID, &v.Operation, &v.Path, &v.ContentSHA256, &v.ContentSizeBytes,
		&v.CreatedAt, &by.Type, &by.ID, &v.RedactedAt, &redactorType, &redactorID, &v.Content)
	v.CreatedBy = describe(by)
	if redactorType.Valid {
		v.RedactedBy = describe(store.Actor{Type: redactorType.String, ID: redactorID.String})
	}
	return v, err
}

func describe(a store.Actor) *actorObject {
	o := actorObject{Type: a.Type}
	switch a.Type {
	case "session_actor":
		o.SessionID = a.ID
	case "api_actor":
		o.APIKeyID = a.ID
	case "user_actor":
		o.UserID = a.ID
	case "service_account_actor":
		o.ServiceAccountID = a.ID
	}
	return &o
}
