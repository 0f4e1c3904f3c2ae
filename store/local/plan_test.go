package local

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every listing walks an index in its order: it scans no table and sorts
// nothing.
func TestListingsWalkAnIndex(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, l := range []listing{{}, {full: true}} {
		requirePlan(t, s.db, l.query(), []any{"s", "/", "0", 1}, "USING INDEX sqlite_autoindex_memories_2 (store=? AND path>? AND path<?)")
	}
	var older condition
	older.and("(created, id) < (?, ?)", 1, "x")
	requirePlan(t, s.db, storeQuery(older), append(older.args, 1), "USING INDEX stores_by_time")
	for query, index := range map[string]string{
		"":                                       "versions_by_time (store=? AND created<?)",
		"created_at[gte]=2020-01-01T00:00:00Z":   "versions_by_time (store=? AND created>? AND created<?)",
		"memory_id=x":                            "versions_by_memory (store=? AND memory=? AND created<?)",
		"operation=deleted":                      "versions_by_operation (store=? AND operation=? AND created<?)",
		"session_id=x":                           "versions_by_actor (store=? AND actor_type=? AND actor_id=? AND created<?)",
		"api_key_id=x&operation=created":         "versions_by_actor (store=? AND actor_type=? AND actor_id=? AND created<?)",
		"memory_id=x&operation=created":          "(store=? AND ",
		"service_account_id=x&session_id=y&view": "versions_by_actor (store=? AND actor_type=? AND actor_id=? AND created<?)",
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		where, err := (&call{query: values, request: httptest.NewRequest(http.MethodGet, "/", nil)}).versionFilter()
		require.NoError(t, err)
		where.and("created < ?", 1)
		requirePlan(t, s.db, versionQuery(where, true), append(where.args, 1), index)
	}
}

func requirePlan(t *testing.T, db *sql.DB, query string, args []any, index string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var plan string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan += detail + "\n"
	}
	require.NoError(t, rows.Err())
	require.Contains(t, plan, index)
	require.NotContains(t, plan, "SCAN")
	require.NotContains(t, plan, "TEMP B-TREE")
}

// A page of direct children costs the same however much lies below them: of each
// child directory one memory is looked at.
func TestChildrenSkipSubtrees(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	st := makeStore(t, s)
	fill(t, s, st, 50, 200)
	page := ask(t, s, "GET", st+"/memories?depth=1&limit=100", "").ok(t)
	require.Len(t, page.object.Data, 50)
	require.Equal(t, "/dir000/", page.object.Data[0].Path)
	require.Empty(t, page.object.NextPage)

	l := listing{store: strings.TrimPrefix(st, "/v1/memory_stores/"), prefix: "/", children: true}
	require.NoError(t, s.read(t.Context(), func(tx *sql.Tx) error {
		from, high := subtree("/")
		run, err := l.run(tx, from, high, 100)
		require.NoError(t, err)
		require.Len(t, run.items, 1)
		require.True(t, run.skipped, "more of the directory was looked at")
		run, err = l.run(tx, past("/dir000/"), high, 100)
		require.NoError(t, err)
		require.Equal(t, "/dir001/", run.items[0].path)
		return nil
	}))
}

// fill writes memories straight into the database, since ten thousand synced
// writes would take long.
func fill(t *testing.T, s *Server, st string, dirs, files int) {
	t.Helper()
	_, err := s.db.Exec(`
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :dirs * :files)
		INSERT INTO memories (id, store, version, path, sha, size, created, updated)
		SELECT 'mem_' || i, :store, '', printf('/dir%03d/sub/file%03d', i / :files, i % :files), '', 0, 0, 0 FROM n`,
		sql.Named("dirs", dirs), sql.Named("files", files), sql.Named("store", st[len("/v1/memory_stores/"):]))
	require.NoError(t, err)
}
