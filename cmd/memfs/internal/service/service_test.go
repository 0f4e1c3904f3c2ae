package service_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manager listens as systemd does.
func manager(t *testing.T) (next func() map[string]string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "n") // a socket's name is short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, socket.Close()) })
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "s"))
	return func() map[string]string {
		t.Helper()
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(20*time.Second)))
		datagram := make([]byte, 4096)
		n, err := socket.Read(datagram)
		require.NoError(t, err)
		got := map[string]string{}
		for _, line := range strings.Fields(strings.ReplaceAll(string(datagram[:n]), " ", "_")) {
			name, value, _ := strings.Cut(line, "=")
			got[name] = value
		}
		return got
	}
}

func TestReadyWatchdogAndStopping(t *testing.T) {
	next := manager(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	m := service.Find(os.Getenv, zap.NewNop())
	require.NotNil(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	statuses := make(chan string)
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx, func() string { return <-statuses }) }()

	statuses <- "1 mount"
	assert.Equal(t, map[string]string{"READY": "1", "STATUS": "1_mount"}, next())
	statuses <- "1 mount"
	assert.Equal(t, map[string]string{"WATCHDOG": "1"}, next(), "what was said is not said again")
	statuses <- "2 edits"
	assert.Equal(t, map[string]string{"WATCHDOG": "1", "STATUS": "2_edits"}, next())
	cancel()
	close(statuses)
	<-ended
	m.Stopping("final pass")
	for got := next(); ; got = next() {
		if got["STOPPING"] != "" {
			assert.Equal(t, "final_pass", got["STATUS"])
			return
		}
	}
}

func TestWithoutAManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	m := service.Find(os.Getenv, zap.NewNop())
	require.Nil(t, m)
	m.Run(t.Context(), nil)
	m.Stopping("")
}
