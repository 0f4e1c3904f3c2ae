//go:build linux

package main

import (
	"context"
	"time"
)

// idleInterval is the default sync interval: one pass is in the time watched.
const idleInterval = 15 * time.Second

// measureIdle watches a mount that nobody uses: first with no pass due, then
// with the passes of the default interval.
func measureIdle(ctx context.Context, b *bench) error {
	dir, err := b.newDir("store")
	if err != nil {
		return err
	}
	remote, err := b.serve(dir, 0)
	if err != nil {
		return err
	}
	info, err := remote.seed(ctx, usual)
	if err != nil {
		return err
	}
	for _, interval := range []time.Duration{never, idleInterval} {
		m, err := b.mount(mountConfig{URL: remote.url, Store: info, Interval: interval, Hydrate: true}, 1)
		if err != nil {
			return err
		}
		err = b.watchIdle(ctx, m, remote, interval)
		_ = m.End()
		if err != nil {
			return err
		}
	}
	return nil
}

// settling is how long a mount has after its start before it counts as idle.
const settling = 3 * time.Second

func (b *bench) watchIdle(ctx context.Context, m *mounted, remote *remote, interval time.Duration) error {
	if err := m.await(); err != nil {
		return err
	}
	if err := wait(ctx, settling); err != nil {
		return err
	}
	pid := m.PID()
	ticks, err := jiffies(pid)
	if err != nil {
		return err
	}
	from, err := usage(pid)
	if err != nil {
		return err
	}
	asked, err := remote.requests()
	if err != nil {
		return err
	}
	if err := wait(ctx, b.idle); err != nil {
		return err
	}
	to, err := usage(pid)
	if err != nil {
		return err
	}
	endTicks, err := jiffies(pid)
	if err != nil {
		return err
	}
	answered, err := remote.requests()
	if err != nil {
		return err
	}
	b.report.Idle = append(b.report.Idle, idleFigures{Interval: interval.String(), Watched: b.idle.Seconds(),
		CPUMillis: float64((to.cpu - from.cpu).Microseconds()) / 1e3, Jiffies: endTicks - ticks,
		Switches: to.switches - from.switches, Requests: answered - asked, ResidentMB: float64(to.resident) / (1 << 20),
		PrivateMB: float64(to.private) / (1 << 20), Threads: to.threads})
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
