//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
)

const (
	growthGroup = "growth, 50 directories, no latency"
	rowPrivate1 = "resident without pages of files"
)

// sizes are a decade apart.
var sizes = []int{100, 1000, 10_000}

// growing are the rows that are measured at each size.
var growing = []struct {
	name, unit string
	of         func(grown) float64
}{
	{rowAll, seconds, func(g grown) float64 { return g.all.seconds }},
	{rowAll, requests, func(g grown) float64 { return float64(g.all.requests) }},
	{rowAll, cpuMillis, func(g grown) float64 { return g.all.cpuMillis }},
	{rowIdle, requests, func(g grown) float64 { return float64(g.idle.requests) }},
	{rowIdle, cpuMillis, func(g grown) float64 { return g.idle.cpuMillis }},
	{rowPrivate1, megabytes, func(g grown) float64 { return inMB(g.private) }},
}

// grown is what a store of one size cost.
type grown struct {
	all, idle cost
	private   int64
}

// measureGrowth measures what stores of each size cost, and how many times as
// much the largest costs as the one before, which has a tenth of the memories.
func measureGrowth(ctx context.Context, b *bench) error {
	costs := make(map[string][]grown)
	for _, n := range sizes {
		t, err := b.template(ctx, b.scaled(shape{count: n, dirs: 50, size: memorySize}), 1)
		if err != nil {
			return err
		}
		for _, peer := range both {
			g, err := b.grow(ctx, peer, t)
			if err != nil {
				return fmt.Errorf("%s: %w", peer, err)
			}
			costs[peer] = append(costs[peer], g)
		}
	}
	for _, row := range growing {
		for i, n := range sizes {
			for _, peer := range both {
				b.report.add(growthGroup, fmt.Sprintf("%s: %d", row.name, n), row.unit, peer, row.of(costs[peer][i]))
			}
		}
		for _, peer := range both {
			if less := row.of(costs[peer][1]); less > 0 {
				b.report.add(growthGroup, fmt.Sprintf("%s: from 1000 to 10000", row.name), "× "+row.unit, peer, row.of(costs[peer][2])/less)
			}
		}
	}
	return nil
}

func (b *bench) grow(ctx context.Context, peer string, t template) (c grown, err error) {
	g, ready, err := b.start(ctx, peer, t, setting{})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	rest, err := g.do(doAwait)
	if err != nil {
		return c, err
	}
	c.all = ready.plus(rest)
	if _, err := g.do(doPass); err != nil { // it tidies up after the start
		return c, err
	}
	if c.idle, err = g.do(doPass); err != nil {
		return c, err
	}
	u, err := usage(g.PID())
	c.private = u.private
	return c, err
}
