package worker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"go.uber.org/zap"
)

// How often a lease is extended: after half its time, within these bounds. The
// upper one also stands for both times until the first answer.
const (
	minBeat = time.Second
	maxBeat = 30 * time.Second
)

// noHeartbeat is what the first heartbeat of a lease expects.
const noHeartbeat = "NO_HEARTBEAT"

// errLeaseLost says that the item is the queue's or another worker's by now:
// it must be neither served nor stopped.
var errLeaseLost = errors.New("the lease is lost: the work item was queued again or another worker has it")

// errToldToStop says that the lease is held, and the work is to end.
var errToldToStop = errors.New("the work item is to be stopped")

// lease extends the lease of a work item until end is called. It has a life of
// its own: a signal that ends the session does not end it, so that the lease
// outlasts the detach.
type lease struct {
	client anthropic.Client
	item   Item
	log    *zap.Logger

	// over ends when the session is to: its cause is errLeaseLost or
	// errToldToStop.
	over context.Context
	// lost ends when the lease is lost.
	lost context.Context

	setOver, setLost context.CancelCauseFunc
	stop             context.CancelFunc
	beating          sync.WaitGroup

	// The rest is the beating goroutine's.
	last     string
	interval time.Duration
	ttl      time.Duration
	since    time.Time // the last beat that succeeded
}

// hold sends the first heartbeat at once and goes on in the background.
func hold(client anthropic.Client, item Item, log *zap.Logger) *lease {
	l := &lease{client: client, item: item, log: log, last: noHeartbeat, interval: maxBeat, ttl: maxBeat, since: time.Now()}
	if item.LastHeartbeat != "" {
		l.last = item.LastHeartbeat
	}
	l.over, l.setOver = context.WithCancelCause(context.Background())
	l.lost, l.setLost = context.WithCancelCause(context.Background())
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.beating.Go(func() { l.beat(ctx) })
	return l
}

// end ends the heartbeats. It reports whether the lease was held to the end.
func (l *lease) end() (held bool) {
	l.stop()
	l.beating.Wait()
	held = l.lost.Err() == nil
	l.setOver(context.Canceled)
	l.setLost(context.Canceled)
	return held
}

func (l *lease) beat(ctx context.Context) {
	for {
		if err := l.once(ctx); err != nil {
			if errors.Is(err, errLeaseLost) {
				l.setLost(err)
			}
			l.setOver(err)
			return
		}
		timer := time.NewTimer(l.interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// once sends one heartbeat. It returns nil to go on, or why not to.
func (l *lease) once(ctx context.Context) error {
	got, err := l.client.Beta.Environments.Work.Heartbeat(ctx, l.item.ID, anthropic.BetaEnvironmentWorkHeartbeatParams{
		EnvironmentID: l.item.EnvironmentID, ExpectedLastHeartbeat: param.NewOpt(l.last),
	}, option.WithMaxRetries(0), option.WithRequestTimeout(l.interval))
	if err != nil {
		return l.failed(ctx, err)
	}
	l.last, l.since = got.LastHeartbeat, time.Now()
	if got.TTLSeconds > 0 {
		l.ttl = max(time.Duration(got.TTLSeconds)*time.Second, minBeat)
		l.interval = min(max(l.ttl/2, minBeat), maxBeat)
	}
	switch {
	case got.State == anthropic.BetaSelfHostedWorkHeartbeatResponseStateStopping, got.State == anthropic.BetaSelfHostedWorkHeartbeatResponseStateStopped:
		l.log.Info("heartbeat reports shutdown", zap.String("code", "told_to_stop"), zap.String("state", string(got.State)))
		return errToldToStop
	case !got.LeaseExtended:
		l.log.Warn("lease not extended; shutting down", zap.String("code", "lease_not_extended"))
		return errToldToStop
	}
	return nil
}

func (l *lease) failed(ctx context.Context, err error) error {
	status := statusOf(err)
	switch {
	case status == http.StatusPreconditionFailed:
		state := leaseState(err)
		l.log.Error("lease lost: heartbeat precondition failed", zap.String("code", "lease_lost"),
			zap.String("server_state", state.State), zap.Int("server_ttl_seconds", state.TTLSeconds), zap.String("server_last_heartbeat", state.LastHeartbeat))
		return errLeaseLost
	case ctx.Err() != nil:
		return nil
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict && status != http.StatusTooManyRequests:
		l.log.Error("permanent heartbeat failure", zap.String("code", "heartbeat_refused"), zap.Int("status", status))
		return errToldToStop
	}
	if stale := time.Since(l.since); stale > l.ttl {
		l.log.Error("heartbeat staleness ceiling exceeded; lease presumed expired", zap.String("code", "lease_expired"),
			zap.Duration("since_last_success", stale), zap.Duration("ttl", l.ttl), zap.Error(err))
		return errLeaseLost
	}
	l.log.Warn("transient heartbeat failure", zap.String("code", "heartbeat_failed"), zap.Error(err))
	return nil
}

// statusOf is the HTTP status of an API error; 0 where there was no answer.
func statusOf(err error) int {
	var api *anthropic.Error
	if errors.As(err, &api) {
		return api.StatusCode
	}
	return 0
}

// serverLease is what a refused heartbeat says of the lease.
type serverLease struct {
	State         string `json:"state"`
	TTLSeconds    int    `json:"ttl_seconds"`
	LastHeartbeat string `json:"last_heartbeat"`
}

func leaseState(err error) serverLease {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return serverLease{}
	}
	var body struct {
		Error struct {
			Details struct {
				Current serverLease `json:"current_state"`
			} `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(api.RawJSON()), &body) // without details there is nothing to tell
	return body.Error.Details.Current
}
