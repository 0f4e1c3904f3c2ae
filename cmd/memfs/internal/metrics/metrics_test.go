package metrics

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs"
	"memfs/fs"
	"memfs/reconcile"
	"memfs/store/replica"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOperationsByKind(t *testing.T) {
	m := New("v1")
	m.Operation(fs.Operation{Name: "read", Took: time.Millisecond, Bytes: 10})
	m.Operation(fs.Operation{Name: "write", Took: time.Millisecond, Bytes: 7})
	m.Operation(fs.Operation{Name: "write", Took: time.Millisecond, Errno: syscall.EFBIG})
	require.NoError(t, testutil.GatherAndCompare(m.registry, strings.NewReader(`
# HELP memfs_fuse_bytes_total Bytes that programs read and wrote through the mounts, the kernel's cache aside.
# TYPE memfs_fuse_bytes_total counter
memfs_fuse_bytes_total{direction="read"} 10
memfs_fuse_bytes_total{direction="written"} 7
# HELP memfs_fuse_errors_total Requests of the kernel that were answered with an errno.
# TYPE memfs_fuse_errors_total counter
memfs_fuse_errors_total{errno="EFBIG",op="write"} 1
`), "memfs_fuse_bytes_total", "memfs_fuse_errors_total"))
	assert.Equal(t, 2, testutil.CollectAndCount(m.operations))
}

func TestMountsAreReadWhenAsked(t *testing.T) {
	m := New("v1")
	count, err := testutil.GatherAndCount(m.registry, "memfs_files")
	require.NoError(t, err)
	assert.Zero(t, count, "there is no mount yet")
	m.Watch(func() []memfs.Status {
		return []memfs.Status{{
			Status: replica.Status{StoreID: "memstore_1", MountPath: "/mnt", Clean: 3, Dirty: 2, JournalBytes: 99, OldestUnsent: time.UnixMilli(1500)},
			Sync:   reconcile.Status{Full: true, Total: reconcile.Totals{Passes: 5}},
		}}
	})
	require.NoError(t, testutil.GatherAndCompare(m.registry, strings.NewReader(`
# HELP memfs_files Files of a mount by what became of them; each is counted once.
# TYPE memfs_files gauge
memfs_files{path="/mnt",state="clean",store="memstore_1"} 3
memfs_files{path="/mnt",state="dirty",store="memstore_1"} 2
memfs_files{path="/mnt",state="held",store="memstore_1"} 0
memfs_files{path="/mnt",state="refused",store="memstore_1"} 0
memfs_files{path="/mnt",state="remote",store="memstore_1"} 0
memfs_files{path="/mnt",state="scratch",store="memstore_1"} 0
# HELP memfs_oldest_unsent_timestamp_seconds When the oldest edit was made that is not sent; 0 where all are.
# TYPE memfs_oldest_unsent_timestamp_seconds gauge
memfs_oldest_unsent_timestamp_seconds{path="/mnt",store="memstore_1"} 1.5
# HELP memfs_passes_total Passes.
# TYPE memfs_passes_total counter
memfs_passes_total{path="/mnt",store="memstore_1"} 5
# HELP memfs_store_blocked 1 while the store takes no edits for this reason.
# TYPE memfs_store_blocked gauge
memfs_store_blocked{path="/mnt",reason="archived",store="memstore_1"} 0
memfs_store_blocked{path="/mnt",reason="credential",store="memstore_1"} 0
memfs_store_blocked{path="/mnt",reason="full",store="memstore_1"} 1
`), "memfs_files", "memfs_oldest_unsent_timestamp_seconds", "memfs_passes_total", "memfs_store_blocked"))
	problems, err := testutil.GatherAndLint(m.registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// What other processes count is served with their session as a label, beside
// what this one counts, and only while they are there.
func TestSessionsOfOtherProcesses(t *testing.T) {
	m, first, second := New("v1"), New("v1"), New("v1")
	w := m.NewWorker()
	ended := w.Begin("sesn_1")
	first.Operation(fs.Operation{Name: "write", Bytes: 7})
	second.Operation(fs.Operation{Name: "write", Bytes: 9})
	texts := map[string][]byte{}
	m.Include(func() map[string][]byte { return texts })
	for id, other := range map[string]*Metrics{"sesn_1": first, "sesn_2": second} {
		text, err := other.Encode()
		require.NoError(t, err)
		texts[id] = text
	}
	require.NoError(t, testutil.GatherAndCompare(m.gatherers, strings.NewReader(`
# HELP memfs_build_info 1, with the version of this process.
# TYPE memfs_build_info gauge
memfs_build_info{version="v1"} 1
memfs_build_info{session="sesn_1",version="v1"} 1
memfs_build_info{session="sesn_2",version="v1"} 1
# HELP memfs_fuse_bytes_total Bytes that programs read and wrote through the mounts, the kernel's cache aside.
# TYPE memfs_fuse_bytes_total counter
memfs_fuse_bytes_total{direction="written",session="sesn_1"} 7
memfs_fuse_bytes_total{direction="written",session="sesn_2"} 9
# HELP memfs_worker_sessions Sessions that are served now.
# TYPE memfs_worker_sessions gauge
memfs_worker_sessions 1
`), "memfs_build_info", "memfs_fuse_bytes_total", "memfs_worker_sessions"))
	assert.True(t, w.Serves("sesn_1"))
	ended("done")
	assert.False(t, w.Serves("sesn_1"))
	clear(texts)
	require.NoError(t, testutil.GatherAndCompare(m.gatherers, strings.NewReader(`
# HELP memfs_worker_items_total Work items by how they ended.
# TYPE memfs_worker_items_total counter
memfs_worker_items_total{outcome="died"} 0
memfs_worker_items_total{outcome="done"} 1
memfs_worker_items_total{outcome="failed"} 0
`), "memfs_fuse_bytes_total", "memfs_worker_items_total"))
	texts["sesn_3"] = []byte("not metrics")
	_, err := m.gatherers.Gather()
	require.Error(t, err)

	first.Label("sesn_1")
	require.NoError(t, testutil.GatherAndCompare(first.gatherers, strings.NewReader(`
# HELP memfs_fuse_bytes_total Bytes that programs read and wrote through the mounts, the kernel's cache aside.
# TYPE memfs_fuse_bytes_total counter
memfs_fuse_bytes_total{direction="written",session="sesn_1"} 7
`), "memfs_fuse_bytes_total"))
}

func TestEveryMetricIsInTheManual(t *testing.T) {
	m := New("v1")
	m.NewWorker()
	m.Operation(fs.Operation{Name: "write", Errno: syscall.EIO, Bytes: 1})
	m.Watch(func() []memfs.Status { return []memfs.Status{{}} })
	m.requests.WithLabelValues("list", "200")
	m.requestBytes.WithLabelValues("sent")
	families, err := m.registry.Gather()
	require.NoError(t, err)
	text, err := os.ReadFile("../../../../docs/OPERATIONS.md")
	require.NoError(t, err)
	has := map[string]bool{}
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "memfs_") {
			has[name] = true
			assert.Contains(t, string(text), "`"+name+"`")
		}
	}
	for _, name := range regexp.MustCompile("`(memfs_[a-z_]+)`").FindAllStringSubmatch(string(text), -1) {
		assert.Contains(t, has, name[1])
	}
}

func TestRequestsByKind(t *testing.T) {
	for want, asked := range map[string][2]string{
		"list":     {"GET", "/v1/memory_stores/memstore_1/memories"},
		"get":      {"GET", "/proxy/v1/memory_stores/memstore_1/memories/mem_1"},
		"create":   {"POST", "/v1/memory_stores/memstore_1/memories"},
		"update":   {"POST", "/v1/memory_stores/memstore_1/memories/mem_1"},
		"delete":   {"DELETE", "/v1/memory_stores/memstore_1/memories/mem_1"},
		"versions": {"GET", "/v1/memory_stores/memstore_1/memory_versions"},
		"version":  {"GET", "/v1/memory_stores/memstore_1/memory_versions/memver_1"},
		"store":    {"GET", "/v1/memory_stores/memstore_1"},
		"other":    {"GET", "/v1/sessions/session_1"},
	} {
		assert.Equal(t, want, kind(asked[0], asked[1]))
	}
	assert.Equal(t, "store", kind("GET", "/v1/memory_stores"))

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	defer server.Close()
	m := New("v1")
	client := &http.Client{Transport: m.Transport(server.Client().Transport)}
	res, err := client.Post(server.URL+"/v1/memory_stores/x/memories", "text/plain", strings.NewReader("four"))
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	client.CloseIdleConnections()
	assert.Equal(t, 1, testutil.CollectAndCount(m.requests))
	assert.InDelta(t, 4, testutil.ToFloat64(m.requestBytes.WithLabelValues("sent")), 0)
	assert.InDelta(t, 6, testutil.ToFloat64(m.requestBytes.WithLabelValues("received")), 0)
}

func TestServer(t *testing.T) {
	m := New("v1")
	var ill error
	s, err := m.Listen(t.Context(), "0", func() error { return ill })
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(s.Addr().String(), "127.0.0.1:"), "loopback by default")
	get := func(path string) (int, string) {
		res, err := http.Get("http://" + s.Addr().String() + path)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, string(text)
	}
	code, text := get("/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, `memfs_build_info{version="v1"} 1`)
	code, text = get("/healthz")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "ok\n", text)
	ill = errors.New("a mount is gone")
	code, text = get("/healthz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "a mount is gone\n", text)

	_, err = m.Listen(t.Context(), s.Addr().String(), nil)
	require.ErrorContains(t, err, "--metrics-addr")
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, s.Close())
}
