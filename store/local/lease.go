package local

import (
	"context"
	"fmt"
	"math"
	"time"

	"memfs/store"
)

// noHeartbeat is what the first heartbeat of a lease expects.
const noHeartbeat = "NO_HEARTBEAT"

// heartbeatObject is the answer to a heartbeat.
type heartbeatObject struct {
	Type          string `json:"type"`
	LastHeartbeat string `json:"last_heartbeat"`
	LeaseExtended bool   `json:"lease_extended"`
	State         string `json:"state"`
	TTLSeconds    int    `json:"ttl_seconds"`
}

// leaseLostError is the answer to a heartbeat of who does not have the lease.
type leaseLostError struct {
	now     heartbeatObject
	updated *stamp
}

func (e *leaseLostError) Error() string {
	return "expected_last_heartbeat is not the last heartbeat of the work item: it was queued again, or another worker has it"
}

func (e *leaseLostError) details() any {
	type state struct {
		State          string `json:"state"`
		LastHeartbeat  string `json:"last_heartbeat"`
		LeaseUpdatedAt *stamp `json:"lease_updated_at"`
		LeaseExtended  bool   `json:"lease_extended"`
		TTLSeconds     int    `json:"ttl_seconds"`
	}
	return struct {
		Code       string `json:"error_code"`
		Visibility string `json:"error_visibility"`
		Current    state  `json:"current_state"`
	}{"heartbeat_precondition_failed", "user_facing", state{e.now.State, e.now.LastHeartbeat, e.updated, false, e.now.TTLSeconds}}
}

// heartbeat extends a lease for who knows its last heartbeat. While an item is
// stopping or stopped, it only tells so, to anybody.
func (a *agents) heartbeat(c *call, w *workItem) (any, error) {
	if err := c.decodeNothing(); err != nil {
		return nil, err
	}
	most := seconds(a.options.LeaseTTL)
	ttl, err := c.number("desired_ttl_seconds", most, 1, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	switch w.State {
	case stopped:
		return w.beat(false), nil
	case queued:
		return nil, &leaseLostError{w.beat(false), w.leaseUpdated()}
	case starting, active:
		expected := c.query.Get("expected_last_heartbeat")
		if expected != "" && expected != w.lastHeartbeat(noHeartbeat) {
			return nil, &leaseLostError{w.beat(false), w.leaseUpdated()}
		}
		w.State = active
	}
	now := a.now()
	w.LatestHeartbeatAt = &now
	if w.StartedAt == nil {
		w.StartedAt = &now
	}
	w.extend(a.options.Now(), min(time.Duration(ttl)*time.Second, a.options.LeaseTTL))
	return w.beat(true), nil
}

// stop ends an item: at once with force, or where no worker has it, else when
// its worker stops it in turn.
func (a *agents) stop(c *call, w *workItem) (any, error) {
	var body struct {
		Force bool `json:"force"`
	}
	if len(c.body) > 0 {
		if err := c.decode(&body); err != nil {
			return nil, err
		}
	}
	if w.State == stopped {
		return nil, fmt.Errorf("%w: work item %s has stopped", store.ErrConflict, w.ID)
	}
	a.end(w, body.Force)
	return noContent{}, nil
}

// end stops an item. The caller holds the lock, here and below.
func (a *agents) end(w *workItem, force bool) {
	defer a.changed()
	now := a.now()
	if w.StopRequestedAt == nil {
		w.StopRequestedAt = &now
	}
	if force || w.State == queued {
		w.State, w.StoppedAt = stopped, &now
	} else {
		w.State = stopping
	}
}

// expire ends the leases that were not extended in time: the items are queued
// again, and those to be stopped are.
func (a *agents) expire() {
	now := a.options.Now()
	for _, w := range a.work {
		if w.State == queued || w.State == stopped || now.Before(w.expires) {
			continue
		}
		if w.State == stopping {
			a.end(w, true)
		} else {
			a.requeue(w)
		}
	}
}

// requeue takes an item from its worker, who learns it by a heartbeat.
func (a *agents) requeue(w *workItem) {
	w.State, w.claimed = queued, nil
	w.AcknowledgedAt, w.StartedAt, w.LatestHeartbeatAt = nil, nil, nil
	a.changed()
}

func (w *workItem) extend(now time.Time, ttl time.Duration) {
	w.ttl, w.expires = ttl, now.Add(ttl)
}

func (w *workItem) lastHeartbeat(none string) string {
	if w.LatestHeartbeatAt == nil {
		return none
	}
	return w.LatestHeartbeatAt.String()
}

// leaseUpdated is when the lease last changed; nil if there is none.
func (w *workItem) leaseUpdated() *stamp {
	if w.LatestHeartbeatAt != nil {
		return w.LatestHeartbeatAt
	}
	return w.AcknowledgedAt
}

func (w *workItem) beat(extended bool) heartbeatObject {
	return heartbeatObject{
		Type: "work_heartbeat", LastHeartbeat: w.lastHeartbeat(""), LeaseExtended: extended,
		State: w.State, TTLSeconds: seconds(w.ttl),
	}
}

// seconds rounds up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// LoseLease takes the session's work item from its worker as if the lease had
// expired: the item is queued again, and the worker's next heartbeat fails. It
// does nothing to an item that no worker has.
func (x *Session) LoseLease() {
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	if w := x.agents.workOf(x); w.State == starting || w.State == active {
		x.agents.requeue(w)
	}
}

// StopWork stops the session's work item as the API does: with force at once,
// else its worker learns it by a heartbeat.
func (x *Session) StopWork(force bool) {
	x.agents.mu.Lock()
	defer x.agents.mu.Unlock()
	if w := x.agents.workOf(x); w.State != stopped {
		x.agents.end(w, force)
	}
}

// WaitWork returns when the session's newest work item is in a state: queued,
// starting, active, stopping or stopped. That a lease has expired is seen when
// somebody asks for work or about it.
func (x *Session) WaitWork(ctx context.Context, state string) error {
	return x.agents.await(ctx, func() bool {
		x.agents.expire()
		return x.agents.workOf(x).State == state
	})
}
