package local

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
)

func TestOpenMakesAPrivateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b c?d#e%41&f=g")
	s := open(t, dir, Options{})
	makeStore(t, s)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
	}
}

func TestOpenRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	_, err := Open(file, Options{})
	require.ErrorContains(t, err, file)

	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, databaseName), []byte(strings.Repeat("not a database ", 100)), 0o600))
	_, err = Open(foreign, Options{})
	require.ErrorContains(t, err, foreign)

	newer := t.TempDir()
	require.NoError(t, open(t, newer, Options{}).Close())
	db, err := sql.Open("sqlite", filepath.Join(newer, databaseName))
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA user_version = 99")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = Open(newer, Options{})
	require.ErrorContains(t, err, "another version of memfs")

	for _, o := range []Options{{MaxContent: -1}, {MaxContent: store.MaxContent + 1}, {MaxPath: -1}, {MaxPath: store.MaxPath + 1}, {MaxMemories: -1}} {
		_, err := Open(t.TempDir(), o)
		require.Error(t, err, o)
	}
}

func TestDurabilitySettings(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "foreign_keys": "1", "secure_delete": "1"} {
		var got string
		require.NoError(t, s.db.QueryRow("PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
}

func TestCaps(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxContent: 8, MaxPath: 10, MaxMemories: 2})
	st := makeStore(t, s)
	for path, content := range map[string]string{"/content": "123456789", "/path567890": "x"} {
		a := create(t, s, st, path, content)
		require.Equal(t, http.StatusBadRequest, a.status)
		require.Equal(t, "invalid_request_error", a.object.Error.Type)
	}
	first := create(t, s, st, "/path56789", "12345678").ok(t)
	create(t, s, st, "/second", "x").ok(t)
	require.Equal(t, http.StatusBadRequest, create(t, s, st, "/third", "x").status, "the store is full")
	require.Equal(t, http.StatusConflict, create(t, s, st, "/second", "x").status, "a repeated create learns what is there")

	ask(t, s, "POST", st+"/memories/"+first.object.ID, `{"content":"new"}`).ok(t)
	require.Equal(t, http.StatusBadRequest, ask(t, s, "POST", st+"/memories/"+first.object.ID, `{"content":"123456789"}`).status)
	ask(t, s, "DELETE", st+"/memories/"+first.object.ID, "").ok(t)
	create(t, s, st, "/third", "x").ok(t)
	create(t, s, makeStore(t, s), "/other", "x").ok(t)
}

func TestConfiguredCredential(t *testing.T) {
	s := open(t, t.TempDir(), Options{Credential: "the-key"})
	for _, c := range []struct {
		header, value string
		status        int
	}{
		{"Authorization", "Bearer the-key", 200},
		{"Authorization", "bearer the-key", 200},
		{"x-api-key", "the-key", 200},
		{"Authorization", "Bearer another", 401},
		{"Authorization", "the-key", 401},
		{"x-api-key", "the-key-and-more", 401},
		{"x-api-key", "", 401},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/memory_stores", nil)
		r.Header.Set("anthropic-beta", memoryBeta)
		r.Header.Set(c.header, c.value)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, "%s: %s", c.header, c.value)
		require.NotContains(t, w.Body.String(), "the-key")
	}
}

func TestLockedDatabaseIsAConflictThatPasses(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir, Options{}), open(t, dir, Options{})
	st := makeStore(t, s)
	s.db.SetMaxOpenConns(1)
	_, err := s.db.Exec("PRAGMA busy_timeout = 1")
	require.NoError(t, err)
	require.NoError(t, other.write(t.Context(), func(*sql.Tx) error {
		a := create(t, s, st, "/a", "x")
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, "conflict_error", a.object.Error.Type)
		ask(t, s, "GET", st+"/memories", "").ok(t)
		return nil
	}))
	create(t, s, st, "/a", "x").ok(t)
}

func TestRequestWithoutBodyWithinTheProcess(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	r, err := http.NewRequest(http.MethodGet, "http://local/v1/memory_stores", nil)
	require.NoError(t, err)
	r.Header.Set("anthropic-beta", memoryBeta)
	r.Header.Set("x-api-key", "some-key")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
}

func TestLogsHoldNoSecrets(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	s := open(t, t.TempDir(), Options{Log: zap.New(core)})
	st := makeStore(t, s)
	create(t, s, st, "/private-path", "private-content").ok(t)
	create(t, s, st, "/private-path/below", "private-content")
	ask(t, s, "GET", st+"/memories?path_prefix=/private-path/&view=full", "").ok(t)
	require.NoError(t, s.Close())
	require.Equal(t, http.StatusInternalServerError, ask(t, s, "GET", st, "").status)
	require.Equal(t, 5, logs.Len(), "one line a request")
	require.Equal(t, zap.ErrorLevel, logs.All()[4].Level)
	for _, line := range logs.All() {
		text := fmt.Sprint(line.Message, line.ContextMap())
		require.NotContains(t, text, "private")
		require.NotContains(t, text, "some-key")
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, t.TempDir(), Options{Now: func() time.Time { return now }})
	st := makeStore(t, s)
	first := create(t, s, st, "/a", "x").ok(t)
	require.Equal(t, "2030-01-01T00:00:00.000001Z", first.object.CreatedAt)
	now = now.Add(-time.Hour)
	second := create(t, s, st, "/b", "x").ok(t)
	require.Equal(t, "2030-01-01T00:00:00.000002Z", second.object.CreatedAt)
	newest := ask(t, s, "GET", st+"/memory_versions?limit=1", "").ok(t)
	require.Equal(t, second.object.MemoryVersionID, newest.object.Data[0].ID)
	ask(t, s, "POST", st+"/archive", "").ok(t)
	now = now.Add(2 * time.Hour)
	require.Contains(t, ask(t, s, "GET", st, "").text, `"archived_at":"2030-01-01T00:00:00.000003Z"`)
}

func TestRedactionLeavesNoTextInTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	st := makeStore(t, s)
	secret := strings.Repeat("hunter2 ", 2_000)
	m := create(t, s, st, "/a", secret).ok(t)
	ask(t, s, "POST", st+"/memories/"+m.object.ID, `{"content":"clean"}`).ok(t)
	require.True(t, inFiles(t, dir, "hunter2 "), "the test looks in the wrong place")
	ask(t, s, "POST", st+"/memory_versions/"+m.object.MemoryVersionID+"/redact", "").ok(t)
	require.False(t, inFiles(t, dir, "hunter2 "))
}

func inFiles(t *testing.T, dir, text string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		if strings.Contains(string(raw), text) {
			return true
		}
	}
	return false
}
