// Package supervise keeps a process's mounts until something ends them: a
// signal, a command over the control socket, an unmount by somebody else.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/control"
)

// Session is what is supervised.
type Session interface {
	// Mounts tells how the mounts are.
	Mounts() []control.Mount
	// Sync runs a pass, waits for it and tells how the mounts are then, also
	// where the pass of one failed.
	Sync(ctx context.Context, r control.SyncRequest) ([]control.Synced, error)
	// Done is closed when somebody else unmounted one of the mounts.
	Done() <-chan struct{}
	// Detach ends the mounts. It bounds itself; the end of ctx cuts it short.
	Detach(ctx context.Context) error
	// Metrics are what the process counts, see package metrics.
	Metrics() ([]byte, error)
	// SessionID is the API's session that is served; "" for none.
	SessionID() string
}

// Supervisor watches over one session. It is the control.Session of its
// process.
type Supervisor struct {
	session Session
	version string
	started time.Time
	log     *zap.Logger

	ask   sync.Once
	asked chan struct{}
	ended chan struct{}
	// err is how Detach went; it is set before ended is closed.
	err error
}

// New supervises session from now on.
func New(session Session, version string, log *zap.Logger) *Supervisor {
	return &Supervisor{
		session: session, version: version, started: time.Now(), log: log,
		asked: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Wait returns when the mounts are to end: with the first signal, when a
// command asks for it, when somebody unmounted one, or when over is closed.
func (s *Supervisor) Wait(signals <-chan os.Signal, over <-chan struct{}) {
	select {
	case got := <-signals:
		s.log.Info("told to end: final pass and unmount", zap.String("code", "ending"), zap.Stringer("signal", got))
	case <-s.asked:
		s.log.Info("asked to end by a command: final pass and unmount", zap.String("code", "ending"))
	case <-s.session.Done():
		s.log.Warn("a mount was unmounted by somebody else: the others end with it", zap.String("code", "foreign_unmount"))
	case <-over:
	}
}

// OneStop is how long signals are taken for the one that ends the mounts: what
// stops a process may tell it and its group, as timeout(1) does.
const OneStop = time.Second

// End ends the mounts and tells whoever asked how it went. A signal that comes
// later than OneStop cuts the final pass short.
func (s *Supervisor) End(signals <-chan os.Signal) error { return s.end(signals, OneStop) }

// EndTold is End where the end was told of earlier, and again only has what came
// OneStop later than that.
func (s *Supervisor) EndTold(again <-chan os.Signal) error { return s.end(again, 0) }

func (s *Supervisor) end(signals <-chan os.Signal, oneStop time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watched := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(watched)
		for {
			select {
			case got := <-signals:
				if time.Since(began) < oneStop {
					continue
				}
				s.log.Warn("told again: the final pass is cut short", zap.String("code", "cut_short"), zap.Stringer("signal", got))
				cancel()
			case <-ctx.Done():
			}
			return
		}
	}()
	s.err = s.session.Detach(ctx)
	close(s.ended)
	cancel()
	<-watched
	return s.err
}

// Report implements control.Session.
func (s *Supervisor) Report() control.Report {
	return control.Report{PID: os.Getpid(), Version: s.version, Started: s.started, Session: s.session.SessionID(), Mounts: s.session.Mounts()}
}

// Sync implements control.Session.
func (s *Supervisor) Sync(ctx context.Context, r control.SyncRequest) ([]control.Synced, error) {
	return s.session.Sync(ctx, r)
}

// Metrics implements control.Session.
func (s *Supervisor) Metrics() ([]byte, error) { return s.session.Metrics() }

// Detach implements control.Session: it asks for the end and waits until it is
// over.
func (s *Supervisor) Detach(ctx context.Context) error {
	s.ask.Do(func() { close(s.asked) })
	select {
	case <-s.ended:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("the mounts are still ending: %w", context.Cause(ctx))
	}
}

// closeTime bounds how long answers may take after the end.
const closeTime = 5 * time.Second

// Listen answers commands on a socket in dir until the returned function is
// called. Mounts work without it, so a failure is a warning.
func (s *Supervisor) Listen(dir string) (closing func() error) {
	server, err := control.Listen(dir, s)
	if err != nil {
		s.log.Warn("no control socket: memfs status, sync and unmount do not reach this process", zap.String("code", "no_socket"), zap.Error(err))
		return func() error { return nil }
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if err := server.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("close the control socket: %w", err)
		}
		return nil
	}
}
