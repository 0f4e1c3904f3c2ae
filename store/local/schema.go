package local

import (
	"database/sql"
	"fmt"
)

// schemaVersion is kept in the database's user_version.
const schemaVersion = 1

// schema, in words: a memory's content is that of its head version, which
// cannot be redacted, so it is kept once. Times are microseconds since 1970.
// stores.latest is the newest time given to anything in the store; the next one
// is always later, so the order of versions is their order of writing.
// versions.content is the last column so that the others are read without it.
const schema = `
CREATE TABLE stores (
	id          TEXT PRIMARY KEY,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	metadata    TEXT NOT NULL,
	created     INTEGER NOT NULL,
	updated     INTEGER NOT NULL,
	archived    INTEGER,
	latest      INTEGER NOT NULL,
	memories    INTEGER NOT NULL
) STRICT;
CREATE INDEX stores_by_time ON stores (created, id);

CREATE TABLE memories (
	id      TEXT PRIMARY KEY,
	store   TEXT NOT NULL REFERENCES stores ON DELETE CASCADE,
	version TEXT NOT NULL,
	path    TEXT NOT NULL,
	sha     TEXT NOT NULL,
	size    INTEGER NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	UNIQUE (store, path)
) STRICT;

CREATE TABLE versions (
	id            TEXT PRIMARY KEY,
	store         TEXT NOT NULL REFERENCES stores ON DELETE CASCADE,
	memory        TEXT NOT NULL,
	operation     TEXT NOT NULL,
	path          TEXT,
	sha           TEXT,
	size          INTEGER,
	created       INTEGER NOT NULL,
	actor_type    TEXT NOT NULL,
	actor_id      TEXT NOT NULL,
	redacted      INTEGER,
	redactor_type TEXT,
	redactor_id   TEXT,
	content       BLOB
) STRICT;
CREATE INDEX versions_by_time      ON versions (store, created);
CREATE INDEX versions_by_memory    ON versions (store, memory, created);
CREATE INDEX versions_by_operation ON versions (store, operation, created);
CREATE INDEX versions_by_actor     ON versions (store, actor_type, actor_id, created);
`

// migrate makes the schema in a new database and refuses one it does not know.
// The caller keeps other processes out.
func migrate(db *sql.DB) error {
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	switch version {
	case schemaVersion:
		return nil
	case 0:
		return createSchema(db)
	default:
		return fmt.Errorf("made by another version of memfs (schema %d, this one knows %d)", version, schemaVersion)
	}
}

func createSchema(db *sql.DB) error {
	if _, err := db.Exec("PRAGMA journal_mode = WAL"); err != nil {
		return fmt.Errorf("turn on the write-ahead log: %w", err)
	}
	tx, err := db.Begin()
	if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec(schema + fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	return tx.Commit()
}
