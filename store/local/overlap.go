package local

import (
	"database/sql"
	"errors"
	"strings"

	"memfs/store"
)

// checkFree reports the other memory that keeps m from its path: at the path
// itself, at an ancestor of it, or below it.
func checkFree(tx *sql.Tx, m memoryObject) error {
	above := []any{m.MemoryStoreID, m.ID, m.Path}
	for i, r := range m.Path {
		if r == '/' && i > 0 {
			above = append(above, m.Path[:i])
		}
	}
	marks := strings.Repeat(", ?", len(above)-2)[len(", "):]
	low, high := subtree(m.Path + "/")
	for _, q := range []struct {
		where string
		args  []any
	}{
		{"store = ? AND id <> ? AND path IN (" + marks + ")", above},
		{"store = ? AND id <> ? AND path >= ? AND path < ?", []any{m.MemoryStoreID, m.ID, low, high}},
	} {
		var taken store.PathConflictError
		err := tx.QueryRow("SELECT id, path FROM memories WHERE "+q.where+" ORDER BY path LIMIT 1", q.args...).Scan(&taken.ID, &taken.Path)
		if err == nil {
			return &taken
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}

// subtree returns the range low <= path < high that holds exactly the paths
// below a directory, which is written with its slash. Paths compare as bytes.
func subtree(dir string) (low, high string) {
	return dir, strings.TrimSuffix(dir, "/") + string('/'+1)
}
