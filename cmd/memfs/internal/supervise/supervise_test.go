package supervise_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/supervise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type session struct {
	done   chan struct{}
	detach func(context.Context) error
}

func newSession() *session {
	return &session{done: make(chan struct{}), detach: func(context.Context) error { return nil }}
}

func (s *session) Mounts() []control.Mount {
	return []control.Mount{{Path: "/mnt/a", Status: []byte(`{}`)}}
}
func (s *session) Sync(context.Context, control.SyncRequest) ([]control.Synced, error) {
	return nil, nil
}
func (s *session) Done() <-chan struct{}            { return s.done }
func (s *session) Detach(ctx context.Context) error { return s.detach(ctx) }
func (s *session) Metrics() ([]byte, error)         { return nil, nil }
func (s *session) SessionID() string                { return "" }
func start(t *testing.T, s *session) (*supervise.Supervisor, chan os.Signal) {
	return supervise.New(s, "v1", zaptest.NewLogger(t)), make(chan os.Signal, 2)
}

func TestWaitEnds(t *testing.T) {
	for name, end := range map[string]func(*supervise.Supervisor, *session, chan os.Signal, chan struct{}){
		"signal":                   func(_ *supervise.Supervisor, _ *session, sig chan os.Signal, _ chan struct{}) { sig <- syscall.SIGTERM },
		"R15 unmount from outside": func(_ *supervise.Supervisor, s *session, _ chan os.Signal, _ chan struct{}) { close(s.done) },
		"command over":             func(_ *supervise.Supervisor, _ *session, _ chan os.Signal, over chan struct{}) { close(over) },
		"asked": func(sup *supervise.Supervisor, _ *session, _ chan os.Signal, _ chan struct{}) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = sup.Detach(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			sup, signals := start(t, s)
			over := make(chan struct{})
			end(sup, s, signals, over)
			sup.Wait(signals, over)
		})
	}
}

func TestDetachTellsHowItWent(t *testing.T) {
	s := newSession()
	s.detach = func(context.Context) error { return exitcode.Errorf(exitcode.EditsKept, "1 edit kept") }
	sup, signals := start(t, s)
	told := make(chan error, 1)
	go func() { told <- sup.Detach(context.Background()) }()
	sup.Wait(signals, nil)
	err := sup.End(signals)
	assert.Equal(t, exitcode.EditsKept, exitcode.Of(err))
	assert.Equal(t, err, <-told)
	assert.Equal(t, err, sup.Detach(t.Context()), "also who asks later")
}

func TestLaterSignalHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession()
		sup, signals := start(t, s)
		s.detach = func(ctx context.Context) error {
			signals <- syscall.SIGTERM // timeout(1) tells the process and its group
			time.Sleep(999 * time.Millisecond)
			signals <- syscall.SIGTERM
			synctest.Wait()
			require.NoError(t, ctx.Err(), "these are one stop")
			time.Sleep(time.Millisecond)
			signals <- syscall.SIGTERM
			<-ctx.Done()
			return exitcode.Errorf(exitcode.EditsKept, "cut short")
		}
		signals <- syscall.SIGTERM
		sup.Wait(signals, nil)
		require.EqualError(t, sup.End(signals), "cut short")
	})
}

// R15: where the end was told of earlier, what came since is no part of that.
func TestR15_SignalBeforeTheEndHurries(t *testing.T) {
	s := newSession()
	sup, signals := start(t, s)
	s.detach = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return exitcode.Errorf(exitcode.EditsKept, "cut short")
		case <-time.After(time.Minute):
			return nil
		}
	}
	signals <- syscall.SIGTERM
	require.EqualError(t, sup.EndTold(signals), "cut short")
}

func TestListen(t *testing.T) {
	root, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(root)) })
	sup, _ := start(t, newSession())
	closing := sup.Listen(filepath.Join(root, "memfs"))
	live, err := control.Processes(t.Context(), filepath.Join(root, "memfs"))
	require.NoError(t, err)
	require.Len(t, live, 1)
	assert.Equal(t, "v1", live[0].Version)
	assert.Equal(t, "/mnt/a", live[0].Mounts[0].Path)
	require.NoError(t, closing())
}

func TestListenGoesOnWithoutASocket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	sup := supervise.New(newSession(), "v1", zap.NewNop())
	require.NoError(t, sup.Listen(filepath.Join(file, "memfs"))())
}
