//go:build linux

package main

import (
	"context"
	"time"
)

const (
	manyStores   = 8
	manyMemories = 10_000
)

// measureMemory attaches 8 stores of 10,000 memories and fetches no content.
// The stores are one and the same to the server, and eight to the mount.
func measureMemory(ctx context.Context, b *bench) error {
	s := shape{files: manyMemories, dirs: 50, size: 64}
	remote, m, err := b.attachLarge(ctx, s, manyStores, 0)
	if err != nil {
		return err
	}
	pid := m.PID()
	attached, err := usage(pid)
	if err != nil {
		return err
	}
	if err := wait(ctx, settling); err != nil {
		return err
	}
	settled, err := usage(pid)
	if err != nil {
		return err
	}
	if b.heap != "" {
		if err := m.heap(b.heap); err != nil {
			return err
		}
	}
	peak, err := statusOf(procStatus(pid))
	if err != nil {
		return err
	}
	requests, err := remote.requests()
	if err != nil {
		return err
	}
	b.report.Memory = &memoryFigures{Stores: manyStores, Memories: manyMemories, AttachSeconds: m.Attached.Seconds(), Requests: requests - s.files - 1,
		AttachedMB: float64(attached.resident) / (1 << 20), SettledMB: float64(settled.resident) / (1 << 20), PeakMB: float64(peak["VmHWM"]) / (1 << 10)}
	return nil
}

// measureAttach measures the time from nothing to a usable mount, at a store
// that takes its time for each request.
func measureAttach(ctx context.Context, b *bench) error {
	for _, s := range []shape{{files: 2000, size: 64}, {files: 2000, dirs: 50, size: 64}, {files: 10_000, dirs: 50, size: 64}} {
		part := &bench{config: b.config, report: b.report, top: b.top}
		remote, m, err := part.attachLarge(ctx, s, 1, b.latency)
		if err == nil {
			var requests int
			requests, err = remote.requests()
			u, usageErr := usage(m.PID())
			if usageErr != nil {
				return usageErr
			}
			b.report.Attach = append(b.report.Attach, attachFigures{Memories: s.files, Directories: s.dirs, LatencyMillis: b.latency.Milliseconds(),
				Seconds: m.Attached.Seconds(), CPUSeconds: u.cpu.Seconds(), Requests: requests})
		}
		if closeErr := part.close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attachLarge makes a store without latency and attaches it n times with.
func (b *bench) attachLarge(ctx context.Context, s shape, n int, latency time.Duration) (*remote, *mounted, error) {
	dir, err := b.newDir("store")
	if err != nil {
		return nil, nil, err
	}
	remote, err := b.serve(dir, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := remote.seed(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if latency > 0 {
		if remote, err = b.serve(dir, latency); err != nil {
			return nil, nil, err
		}
	}
	m, err := b.mount(mountConfig{URL: remote.url, Store: info, Interval: never, Profile: b.profile}, n)
	if err != nil {
		return nil, nil, err
	}
	b.after(m.End)
	return remote, m, nil
}
