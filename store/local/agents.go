package local

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errClosed: the server ends.
var errClosed = errors.New("the local store is closed")

// agents holds the sessions and the work queue, in memory only.
//
// One lock guards everything in it, but for what a session keeps for ever (its
// id and stores). Every change ends with changed, which wakes whoever waits.
type agents struct {
	options Options

	mu       sync.Mutex
	sessions []*Session  // oldest first
	work     []*workItem // oldest first
	polled   map[worker]time.Time
	latest   stamp
	change   chan struct{} // closed at the next change
	done     chan struct{} // closed at the end
	closed   bool
}

func newAgents(o Options) *agents {
	return &agents{
		options: o, polled: make(map[worker]time.Time),
		change: make(chan struct{}), done: make(chan struct{}),
	}
}

func (a *agents) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		close(a.done)
	}
}

// now returns a time that is later than every one before it, so that it tells
// events, and heartbeats, apart. The caller holds the lock.
func (a *agents) now() stamp {
	a.latest = max(stamp(a.options.Now().UnixMicro()), a.latest+1)
	return a.latest
}

// changed wakes whoever awaits something. The caller holds the lock.
func (a *agents) changed() {
	close(a.change)
	a.change = make(chan struct{})
}

// await returns when ready does, which is called with the lock held, at first
// and after every change.
func (a *agents) await(ctx context.Context, ready func() bool) error {
	for {
		a.mu.Lock()
		done := ready()
		change := a.change // after ready, which may have changed something itself
		a.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		case <-a.done:
			return errClosed
		}
	}
}

// holder returns the work item whose sessions token this is, or nil.
func (a *agents) holder(token string) *workItem {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.work {
		if same(w.token, token) {
			return w
		}
	}
	return nil
}
