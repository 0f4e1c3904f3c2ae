package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"go.uber.org/zap"

	"memfs"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/cmd/memfs/internal/worker/toolbox"
)

// drainTimeout bounds how long the tool in flight is waited for when a session
// ends early.
const drainTimeout = 10 * time.Second

// errSignal ends a session early: the worker was told to end.
var errSignal = errors.New("told to end")

// errUnmounted ends a session whose mounts a command or somebody else ended.
var errUnmounted = errors.New("the session's mounts were ended from outside")

// serving is one work item being served.
type serving struct {
	c    Config
	item Item
	log  *zap.Logger

	lease *lease
	gate  gate
	// sdk makes requests for the session, until the lease is lost.
	sdk anthropic.Client
	// end ends the session early.
	end context.CancelCauseFunc
	// again has the second signal.
	again chan os.Signal
}

// Serve serves a claimed work item to its end. The first of signals ends the
// session early, with a final pass; a second one cuts that short. A nil error
// means that everything was sent.
func Serve(c Config, item Item, signals <-chan os.Signal) error {
	log := c.Log.With(zap.String("work_id", item.ID), zap.String("session_id", item.SessionID))
	if item.Secret && item.Token == "" {
		log.Warn("work item carried a secret payload but no sessions token could be extracted; falling back to the environment key",
			zap.String("code", "no_sessions_token"))
	}
	transport := newTransport()
	defer transport.CloseIdleConnections()
	direct := newClient(c.BaseURL, item.credential(), transport)
	s := &serving{c: c, item: item, log: log, again: make(chan os.Signal, 1)}
	s.lease = hold(direct, item, log)
	s.gate = gate{next: transport, open: s.lease.lost}
	s.sdk = newClient(c.BaseURL, item.credential(), s.gate)

	ctx, end := context.WithCancelCause(context.Background())
	s.end = end
	stopLease := context.AfterFunc(s.lease.over, func() { end(context.Cause(s.lease.over)) })
	over := make(chan struct{})
	go s.listen(signals, over)

	err := s.serve(ctx)
	close(over)
	stopLease()
	end(nil)
	if !s.lease.end() {
		log.Info("lease lost; released without stopping it", zap.String("code", "released"))
		return err
	}
	stopWork(direct, item, log)
	return err
}

// GiveUp stops a work item that cannot be served for err, and says so.
func GiveUp(baseURL string, item Item, err error, log *zap.Logger) {
	s := &serving{item: item, log: log.With(zap.String("work_id", item.ID), zap.String("session_id", item.SessionID))}
	s.log.Error("work item failed", zap.String("code", "not_served"), zap.Error(err))
	s.hint()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	stopWork(newClient(baseURL, item.credential(), transport), item, s.log)
}

// listen passes signals on. The second may come long before the final pass does:
// the tool in flight is waited for.
func (s *serving) listen(signals <-chan os.Signal, over <-chan struct{}) {
	var told time.Time
	for {
		select {
		case got, ok := <-signals:
			switch {
			case !ok:
				return
			case told.IsZero():
				told = time.Now()
				s.log.Info("told to end: the session gets its final pass", zap.String("code", "told_to_end"), zap.Stringer("signal", got))
				s.end(errSignal)
			case time.Since(told) >= supervise.OneStop:
				s.again <- got
				return
			}
		case <-over:
			return
		}
	}
}

// serve is the part of an item's life under its lease.
func (s *serving) serve(ctx context.Context) error {
	if s.item.Type != sessionWork {
		s.log.Debug("skipping non-session work item", zap.String("code", "not_a_session"), zap.String("type", s.item.Type))
		return nil
	}
	session, err := s.sdk.Beta.Sessions.Get(ctx, s.item.SessionID, anthropic.BetaSessionGetParams{},
		option.WithMaxRetries(4), option.WithRequestTimeout(requestTimeout))
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		err = fmt.Errorf("retrieve session %s: %w", s.item.SessionID, err)
		s.log.Warn("session lookup failed", zap.String("code", "session_lookup"), zap.Error(err))
		return err
	case session.Status == anthropic.BetaManagedAgentsSessionStatusTerminated:
		s.log.Info("skipping the work item of a terminated session", zap.String("code", "session_terminated"))
		return nil
	}
	attached, err := s.attach(ctx, session)
	if ctx.Err() != nil && attached == nil {
		return nil // nothing was done yet, and nothing is left
	}
	if err != nil {
		return err
	}
	if attached == nil {
		return s.run(ctx, session, nil)
	}
	return s.runAttached(ctx, session, attached)
}

// runAttached runs the tools on the mounts, and detaches.
func (s *serving) runAttached(ctx context.Context, session *anthropic.BetaManagedAgentsSession, attached *memfs.Session) error {
	supervisor := s.c.Supervise(s.item.SessionID, attached)
	defer s.close(supervisor.Listen(s.c.Runtime))
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		supervisor.Wait(nil, over)
		s.end(errUnmounted)
	}()
	err := s.run(ctx, session, attached)
	close(over)
	<-watched
	return errors.Join(err, supervisor.EndTold(s.again))
}

func (s *serving) close(f func() error) {
	if err := f(); err != nil {
		s.log.Warn("not closed cleanly", zap.String("code", "close_failed"), zap.Error(err))
	}
}

// run has the tools do what the session's agent asks for, until the session
// ends. Nothing that they started is left then.
func (s *serving) run(ctx context.Context, session *anthropic.BetaManagedAgentsSession, attached *memfs.Session) (err error) {
	box, err := s.open(ctx, session, attached)
	if err != nil {
		s.log.Error("the tools cannot be started", zap.String("code", "tools_failed"), zap.Error(err),
			zap.String("remedy", "see the error; --tools-user needs a working directory that it can enter"))
		s.hint()
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	runner := s.sdk.Beta.Sessions.Events.NewToolRunner(ctx, s.item.SessionID, anthropic.SessionToolRunnerOptions{
		Tools: box.Tools(), MaxIdle: &s.c.MaxIdle, Logger: sdkLog(s.c.Log.With(zap.String("work_id", s.item.ID))), DrainTimeout: drainTimeout,
	})
	defer func() { err = errors.Join(err, runner.Close()) }()
	for runner.Next() {
		call := runner.Current()
		s.log.Info("dispatched tool", zap.String("code", "tool_done"), zap.String("tool", call.Name), zap.Bool("is_error", call.IsError), zap.Bool("posted", call.Posted))
	}
	err = runner.Err()
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, anthropic.ErrSessionTerminated), errors.Is(err, anthropic.ErrIdleTimeout):
		return nil
	}
	s.log.Warn("session tool runner exited with error", zap.String("code", "runner_failed"), zap.Error(err))
	return fmt.Errorf("session %s: %w", s.item.SessionID, err)
}

// open starts the tools with the session's skills and on its mounts.
func (s *serving) open(ctx context.Context, session *anthropic.BetaManagedAgentsSession, attached *memfs.Session) (*toolbox.Box, error) {
	o := s.c.Tools
	o.Log, o.Workdir = s.log, s.c.Workdir
	if attached != nil {
		o.AllowedRoots, o.ReadOnlyRoots = attached.Roots()
	}
	skills, remove, err := s.skills(ctx, session)
	if err != nil {
		s.log.Warn("skill setup failed", zap.String("code", "skills_failed"), zap.Error(err))
	}
	defer remove()
	o.Skills = skills
	return toolbox.Open(o)
}
