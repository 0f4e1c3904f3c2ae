package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/metrics"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/fs"
	"memfs/fs/attach"
)

// PollConfig says what to claim and who serves it.
type PollConfig struct {
	// BaseURL is the API's address.
	BaseURL string
	// EnvironmentID is the environment whose queue is polled, EnvironmentKey
	// what authorizes that.
	EnvironmentID, EnvironmentKey string
	// MaxSessions is how many items are served at the same time, at least 1.
	MaxSessions int
	// Command makes the process that serves an item. It is given the item's
	// JSON on standard input, which then stays open: its end means that the
	// session is to end.
	Command func(Item) *exec.Cmd
	// Start starts it.
	Start func(*exec.Cmd) error
	// StateDir is where it keeps what is not sent yet.
	StateDir string
	// Metrics count what is served; nil is not at all.
	Metrics *metrics.Worker
	Log     *zap.Logger
}

// Poll claims work items and has each served by a process, until the first of
// signals. Then the processes end their sessions, and Poll returns when they
// have; a second signal makes them hurry. An error means that no work can be
// claimed.
func Poll(c PollConfig, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	p := &poll{c: c, client: newClient(c.BaseURL, c.EnvironmentKey, transport), draining: ctx, hurry: make(chan struct{})}
	over := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() { p.listen(signals, cancel, over) })
	err := p.claim(ctx)
	cancel() // also where the queue refused us: what runs gets its final pass
	p.serving.Wait()
	close(over)
	listening.Wait()
	return err
}

type poll struct {
	c       PollConfig
	client  anthropic.Client
	serving sync.WaitGroup
	// draining ends when the processes are to end their sessions, hurry is
	// closed when they are to do it at once.
	draining context.Context
	hurry    chan struct{}
}

func (p *poll) listen(signals <-chan os.Signal, drain func(), over <-chan struct{}) {
	select {
	case got := <-signals:
		p.c.Log.Info("told to end: no more work is claimed, running sessions get their final pass", zap.Stringer("signal", got))
		drain()
	case <-over:
		return
	}
	for told := time.Now(); ; {
		select {
		case got := <-signals:
			if time.Since(told) < supervise.OneStop {
				continue
			}
			p.c.Log.Warn("told again: final passes are cut short", zap.Stringer("signal", got))
			close(p.hurry)
		case <-over:
		}
		return
	}
}

// claim takes an item whenever one more can be served.
func (p *poll) claim(ctx context.Context) error {
	poller := environments.NewWorkPoller(ctx, p.client, environments.WorkPollerOptions{
		EnvironmentID: p.c.EnvironmentID, EnvironmentKey: p.c.EnvironmentKey, AutoStop: param.NewOpt(false), Logger: sdkLog(p.c.Log),
	})
	free := make(chan struct{}, p.c.MaxSessions)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || !poller.Next() {
			break
		}
		work := *poller.Current()
		p.serving.Go(func() {
			defer func() { <-free }()
			p.serve(work)
		})
	}
	err := errors.Join(poller.Err(), poller.Close())
	if errors.Is(err, context.Canceled) || err == nil {
		return nil
	}
	if status := statusOf(err); status == 401 || status == 403 {
		return exitcode.Errorf(exitcode.Unreachable, "poll environment %s: the environment key was refused (status %d): set ANTHROPIC_ENVIRONMENT_KEY", p.c.EnvironmentID, status)
	}
	return fmt.Errorf("poll environment %s: %w", p.c.EnvironmentID, err)
}

// serve has one item served and says what became of it.
func (p *poll) serve(work anthropic.BetaSelfHostedWork) {
	log := p.c.Log.With(zap.String("work_id", work.ID), zap.String("session_id", work.Data.ID))
	wire := wireItem{ID: work.ID, EnvironmentID: work.EnvironmentID, Secret: work.Secret, EnvironmentKey: p.c.EnvironmentKey}
	wire.Data.ID, wire.Data.Type = work.Data.ID, string(work.Data.Type)
	item := newItem(wire, p.c.EnvironmentKey)
	ended := p.c.Metrics.Begin(item.SessionID)
	command := p.c.Command(item)
	in, err := command.StdinPipe()
	if err == nil {
		err = p.c.Start(command)
	}
	if err != nil {
		ended("failed")
		log.Error("work item failed", zap.String("code", "not_started"), zap.Error(err))
		stopWork(p.client, item, log)
		return
	}
	exited := make(chan struct{})
	var driving sync.WaitGroup
	driving.Go(func() { p.drive(command.Process, in, wire, exited) })
	driving.Go(func() { p.unhang(command.Process, log, exited) })
	err = command.Wait()
	close(exited)
	driving.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		ended("done")
		log.Debug("work item done", zap.String("code", "session_done"))
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		ended("failed")
		log.Warn("work item failed", zap.String("code", "session_failed"), zap.Int("exit_code", exit.ExitCode()))
	default:
		ended("died")
		log.Error("the process that served a session died; the queue offers the session again when its lease has expired, and what it wrote is sent then",
			zap.String("code", "session_died"), zap.Error(err))
	}
}

// drive gives a process its item, and tells it when to end.
func (p *poll) drive(process *os.Process, in io.WriteCloser, item wireItem, exited <-chan struct{}) {
	defer in.Close()
	if err := json.NewEncoder(in).Encode(item); err != nil {
		return // it has ended, or does not read
	}
	select {
	case <-p.draining.Done():
		_ = in.Close()
	case <-exited:
		return
	}
	select {
	case <-p.hurry:
		_ = process.Signal(syscall.SIGTERM)
	case <-exited:
	}
}

// hungLook is how often a process is looked at that may have been killed.
const hungLook = 2 * time.Second

// unhang ends a process that was killed and cannot end by itself.
func (p *poll) unhang(process *os.Process, log *zap.Logger, exited <-chan struct{}) {
	look := time.NewTicker(hungLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-exited:
			return
		}
		if !fs.Hung(process.Pid) {
			continue
		}
		if err := attach.EndHung(log, p.c.StateDir); err != nil {
			log.Error("a killed process hangs", zap.String("code", "owner_hung"), zap.Error(err))
		}
	}
}
