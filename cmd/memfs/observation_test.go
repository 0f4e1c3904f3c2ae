package main_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

func TestMetricsAndTrace(t *testing.T) {
	h := quiet(t)
	id := h.store("notes")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := h.command("mount", "notes:"+h.path("mnt"), "--metrics-addr=0", "--trace")
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	log := bufio.NewScanner(r)
	await := func(pattern string) []string {
		t.Helper()
		for log.Scan() {
			if got := regexp.MustCompile(pattern).FindStringSubmatch(log.Text()); got != nil {
				return got
			}
		}
		require.Fail(t, "the log never said "+pattern)
		return nil
	}
	address := await(`metrics are served .*"address": "(127\.0\.0\.1:\d+)"`)[1]
	get := func(path string) (int, string) {
		res, err := http.Get("http://" + address + path)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, string(text)
	}
	await("mounted")
	write(t, h.path("mnt/a.md"), "one\n")
	await(`INFO  write  .*"store": "` + id + `", "path": "/a.md", "took": "[^"]+", "bytes": 4`)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	h.must("sync", h.path("mnt"))
	code, _ := get("/healthz")
	assert.Equal(t, http.StatusOK, code)
	_, text := get("/metrics")
	for _, line := range []string{
		`memfs_fuse_operation_seconds_count{op="write"} 1`,
		`memfs_fuse_bytes_total{direction="written"} 4`,
		`memfs_store_request_seconds_count{kind="create",status="200"} 1`,
		`memfs_files{path="` + h.path("mnt") + `",state="clean",store="` + id + `"} 1`,
		`memfs_pushed_total{path="` + h.path("mnt") + `",store="` + id + `"} 1`,
	} {
		assert.Contains(t, text, "\n"+line+"\n")
	}
	h.fails(exitcode.Failed, "choose another address with --metrics-addr", "mount", "notes:"+h.path("other"), "--metrics-addr="+address)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

func TestServiceManagerIsTold(t *testing.T) {
	h := quiet(t)
	h.store("notes")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.path("n"), Net: "unixgram"})
	require.NoError(t, err)
	defer func() { assert.NoError(t, socket.Close()) }()
	next := func() string {
		t.Helper()
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(20*time.Second)))
		datagram := make([]byte, 4096)
		n, err := socket.Read(datagram)
		require.NoError(t, err)
		return string(datagram[:n])
	}
	told := h.with("NOTIFY_SOCKET="+h.path("n"), "WATCHDOG_USEC=200000")
	mnt := h.path("mnt")
	cmd := told.background(nil, "mount", "notes:"+mnt)
	assert.Equal(t, "READY=1\nSTATUS=1 mount, 0 edits unsent", next())
	write(t, filepath.Join(mnt, "a.md"), "one\n")
	for got := next(); !strings.Contains(got, "STATUS=1 mount, 1 edit unsent"); got = next() {
		assert.True(t, strings.HasPrefix(got, "WATCHDOG=1"), got)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	for got := next(); got != "STOPPING=1\nSTATUS=final pass and unmount"; got = next() {
		assert.True(t, strings.HasPrefix(got, "WATCHDOG=1"), got)
	}
	require.NoError(t, cmd.Wait())

	told.must("exec", "notes:"+mnt, "--", "true")
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = socket.Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "only a service speaks to the manager")
}
