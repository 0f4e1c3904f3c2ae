package local

import (
	"database/sql"
	"strconv"

	"memfs/store"
)

// listVersions answers with one page of a store's versions, newest first.
func (s *Server) listVersions(c *call) (any, error) {
	full, err := c.full(false)
	if err != nil {
		return nil, err
	}
	limit, err := c.limit(full)
	if err != nil {
		return nil, err
	}
	where, err := c.versionFilter()
	if err != nil {
		return nil, err
	}
	list := "versions" + where.name()
	after, err := c.after(list)
	if err != nil {
		return nil, err
	}
	if after != "" {
		created, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			return nil, invalid("page is not a cursor of this server")
		}
		where.and("created < ?", created)
	}
	var versions []versionObject
	err = s.read(c.context(), func(tx *sql.Tx) error {
		if _, err := loadStore(tx, c.storeID()); err != nil {
			return err
		}
		rows, err := tx.Query(versionQuery(where, full), append(where.args, limit+1)...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			v, err := scanVersion(rows)
			if err != nil {
				return err
			}
			versions = append(versions, v)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return pageOf(versions, limit, list, func(v versionObject) string {
		return strconv.FormatInt(int64(v.CreatedAt), 10)
	}), nil
}

// versionQuery selects versions, newest first; its last argument is how many.
func versionQuery(where condition, full bool) string {
	content := "NULL"
	if full {
		content = "content"
	}
	return "SELECT " + versionColumns + ", " + content + " FROM versions" + where.sql + " ORDER BY created DESC LIMIT ?"
}

func (c *call) versionFilter() (condition, error) {
	var where condition
	where.and("store = ?", c.storeID())
	if id := c.query.Get("memory_id"); id != "" {
		where.and("memory = ?", id)
	}
	switch op := store.Operation(c.query.Get("operation")); op {
	case "":
	case store.Created, store.Modified, store.Deleted:
		where.and("operation = ?", string(op))
	default:
		return where, invalid("operation %q is not created, modified or deleted", op)
	}
	for _, actor := range []struct{ parameter, kind string }{
		{"session_id", "session_actor"},
		{"api_key_id", "api_actor"},
		{"service_account_id", "service_account_actor"},
	} {
		if id := c.query.Get(actor.parameter); id != "" {
			where.and("actor_type = ? AND actor_id = ?", actor.kind, id)
		}
	}
	err := c.between(&where)
	return where, err
}
