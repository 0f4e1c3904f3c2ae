package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memfs/store"
)

// The parameters of a poll, in milliseconds.
const (
	maxBlock       = 999
	defaultReclaim = 5_000
	maxReclaim     = 24 * 60 * 60 * 1_000
)

// pollWork hands out the oldest item that waits, or null: the Go SDK takes a
// 204 for a failure and backs off.
func (s *Server) pollWork(c *call) (any, error) {
	block, err := c.number("block_ms", 0, 1, maxBlock)
	if err != nil {
		return nil, err
	}
	reclaim, err := c.number("reclaim_older_than_ms", defaultReclaim, 0, maxReclaim)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.context(), milliseconds(block))
	defer cancel()
	who := worker{c.environment(), c.request.Header.Get("Anthropic-Worker-ID")}
	var w *workItem
	var o workObject
	err = s.agents.await(ctx, func() bool {
		if w = s.agents.claim(who, milliseconds(reclaim)); w != nil {
			o = w.object()
		}
		return w != nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errClosed):
		return nil, nil
	case err != nil:
		return nil, err
	}
	o.Secret, err = w.secret()
	return o, err
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// claim takes the oldest item of an environment that nobody has, or that was
// handed out longer than reclaim ago and never acknowledged; nil for none. The
// caller holds the lock.
func (a *agents) claim(who worker, reclaim time.Duration) *workItem {
	a.expire()
	now := a.options.Now()
	if who.id != "" {
		a.polled[who] = now
	}
	for _, w := range a.work {
		if w.EnvironmentID == who.environment && w.State == queued && (w.claimed == nil || now.Sub(*w.claimed) >= reclaim) {
			w.claimed = &now
			return w
		}
	}
	return nil
}

// ack takes an item off the queue. To repeat it is harmless: an answer may have
// been lost.
func (a *agents) ack(c *call, w *workItem) (any, error) {
	if err := c.decodeNothing(); err != nil {
		return nil, err
	}
	switch w.State {
	case queued:
		now := a.now()
		w.State, w.AcknowledgedAt = starting, &now
		w.extend(a.options.Now(), a.options.LeaseTTL)
	case stopping, stopped:
		return nil, fmt.Errorf("%w: work item %s is %s", store.ErrConflict, w.ID, w.State)
	}
	return w.object(), nil
}
