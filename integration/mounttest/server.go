package mounttest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endTimeout is over what a clean end may take (R15).
const endTimeout = 40 * time.Second

// server is the process that serves a mount.
type server struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	logged  chan struct{} // closed when its log has ended
}

// startServer returns once the mount can be used.
func startServer(t testing.TB, c config) *server {
	t.Helper()
	s := &server{command: exec.Command(os.Args[0]), logged: make(chan struct{})}
	// Without GORACE a child of the race detector takes a second to exit.
	s.command.Env = append(os.Environ(), childEnv+"=1", "GORACE=atexit_sleep_ms=0")
	in, err := s.command.StdinPipe()
	require.NoError(t, err)
	stdout, err := s.command.StdoutPipe()
	require.NoError(t, err)
	stderr, err := s.command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.command.Start())
	go func() {
		defer close(s.logged)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			t.Log("server: ", lines.Text())
		}
	}()
	s.in, s.out = in, json.NewDecoder(stdout)
	s.tell(t, c)
	if said := s.reply(t); said.Err != "" {
		s.leave(t)
		require.FailNow(t, "not attached", said.Err)
	}
	return s
}

// do has the server do something that must work.
func (s *server) do(t testing.TB, o order) reply {
	t.Helper()
	r := s.ask(t, o)
	require.Empty(t, r.Err, o.Do)
	return r
}

func (s *server) ask(t testing.TB, o order) reply {
	t.Helper()
	s.tell(t, o)
	return s.reply(t)
}

func (s *server) tell(t testing.TB, what any) {
	t.Helper()
	require.NoError(t, json.NewEncoder(s.in).Encode(what))
}

func (s *server) reply(t testing.TB) reply {
	t.Helper()
	var r reply
	require.NoError(t, s.out.Decode(&r), "the server ended")
	return r
}

// leave has the server detach without being asked what came of it.
func (s *server) leave(t testing.TB) {
	t.Helper()
	_ = s.in.Close()
	s.wait(t)
}

// wait waits until the server has ended by itself, and well.
func (s *server) wait(t testing.TB) {
	t.Helper()
	hung := time.AfterFunc(endTimeout, func() { _ = s.command.Process.Kill() })
	defer hung.Stop()
	<-s.logged
	assert.NoError(t, s.command.Wait(), "the server did not end well")
	_ = s.in.Close()
}

func (s *server) kill(t testing.TB) {
	t.Helper()
	require.NoError(t, s.command.Process.Kill())
	<-s.logged
	_ = s.command.Wait() // reports the kill
	_ = s.in.Close()
}
