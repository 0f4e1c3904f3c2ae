//go:build linux

package main

import (
	"context"
)

const (
	memoryGroup = "8 stores of 10,000 memories, no contents"
	rowAttached = "resident, just attached"
	rowSettled  = "resident, settled"
	rowPeak     = "resident, at most"
)

// measureMemory attaches 8 stores of 10,000 memories and fetches no content.
// The stores are one and the same to the server, and eight to the mount.
func measureMemory(ctx context.Context, b *bench) error {
	t, err := b.template(ctx, b.scaled(largeDeep), 1)
	if err != nil {
		return err
	}
	g, ready, err := b.start(ctx, ours, t, setting{lazy: true, mounts: 8})
	if err != nil {
		return err
	}
	b.after(g.close)
	attached, err := usage(g.PID())
	if err != nil {
		return err
	}
	if err := wait(ctx, settling); err != nil {
		return err
	}
	settled, err := usage(g.PID())
	if err != nil {
		return err
	}
	if b.heap != "" {
		if err := g.Ask(peerOrder{Do: doHeap, File: b.heap}, &spent{}); err != nil {
			return err
		}
	}
	status, err := numbersOf(procStatus(g.PID()))
	if err != nil {
		return err
	}
	b.report.addCost(memoryGroup, rowReady, ours, ready)
	b.report.add(memoryGroup, rowAttached, megabytes, ours, inMB(attached.resident))
	b.report.add(memoryGroup, rowSettled, megabytes, ours, inMB(settled.resident))
	b.report.add(memoryGroup, rowPeak, megabytes, ours, inMB(status["VmHWM"]<<10))
	return nil
}
