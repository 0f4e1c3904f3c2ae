package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"memfs/store"
)

const (
	databaseName = "memfs.db"
	// lockName is locked while the database is made: SQLite's own waiting does
	// not cover the change to the write-ahead log.
	lockName = "memfs.lock"
	// connections bounds concurrent reads.
	connections = 8
)

// settings of every connection. Writes take the lock when they begin, so that
// none fails halfway; FULL syncs the log at each commit; secure_delete
// overwrites what redaction removes.
var settings = url.Values{
	"_busy_timeout": {"10000"},
	"_foreign_keys": {"1"},
	"_synchronous":  {"FULL"},
	"_txlock":       {"immediate"},
	"_dqs":          {"0"},
	"_pragma":       {"secure_delete(1)"},
}

// Exists reports whether a directory has an embedded store; Open makes one where
// there is none.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, databaseName))
	return !errors.Is(err, os.ErrNotExist)
}

func openDatabase(dir string) (*sql.DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	defer unlock()

	path := filepath.Join(dir, databaseName)
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	name := url.URL{Path: path}
	connector, err := sqlite.NewConnector("file:" + name.EscapedPath() + "?" + settings.Encode())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if err := migrate(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// createPrivate makes an empty database that only its owner can read; SQLite
// gives its other files the same mode. One that exists is not touched: to open
// and close it here would drop the locks SQLite holds on it in this process.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// lock waits for the lock file and returns what releases it.
func lock(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// read runs f on one unchanging state of the database.
func (s *Server) read(ctx context.Context, f func(*sql.Tx) error) error {
	return s.transact(ctx, &sql.TxOptions{ReadOnly: true}, f)
}

// write runs f as one durable change. It is not cut short when the client
// leaves: a change that was begun is made.
func (s *Server) write(ctx context.Context, f func(*sql.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.transact(context.WithoutCancel(ctx), nil, f)
}

func (s *Server) transact(ctx context.Context, o *sql.TxOptions, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, o)
	if err != nil {
		return busy(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return busy(err)
	}
	return busy(tx.Commit())
}

// busy turns SQLite's "another process has the lock" into the error that a
// client may answer by trying again; nothing was changed.
func busy(err error) error {
	var failure *sqlite.Error
	if errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_BUSY {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	return err
}
