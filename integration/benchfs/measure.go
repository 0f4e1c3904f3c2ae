//go:build linux

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// measureOps measures every operation on every filesystem, in rounds.
func measureOps(ctx context.Context, b *bench) error {
	places, m, err := b.places(ctx)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := p.put(p.large, p.largeText, createFlags); err != nil {
			return err
		}
	}
	if _, err := round(ctx, places, 0); err != nil { // a warm-up
		return err
	}
	if b.profile != "" {
		if err := m.profiled(b.profile); err != nil {
			return err
		}
	}
	began, err := usage(m.PID())
	if err != nil {
		return err
	}
	for i := range b.rounds {
		times, err := round(ctx, places, i)
		if err != nil {
			return err
		}
		b.report.add(times)
	}
	ended, err := usage(m.PID())
	if err != nil {
		return err
	}
	b.report.note("the mount over all rounds: %.1f s CPU, %d MB resident at the end", (ended.cpu - began.cpu).Seconds(), ended.resident>>20)
	return nil
}

func (b *bench) places(ctx context.Context) ([]*place, *mounted, error) {
	mem, m, err := b.memfs(ctx)
	if err != nil {
		return nil, nil, err
	}
	plain, err := b.ext4()
	if err != nil {
		return nil, nil, err
	}
	journaled, _, err := b.journaled()
	if err != nil {
		return nil, nil, err
	}
	places := []*place{mem, plain}
	if journaled != nil {
		places = append(places, journaled)
	}
	return places, m, nil
}

// figures are microseconds by operation and filesystem.
type figures map[string]map[string]float64

func (f figures) set(op, place string, micros float64) {
	if f[op] == nil {
		f[op] = make(map[string]float64)
	}
	f[op][place] = micros
}

// repeats is how often a round measures what takes microseconds: one time
// slice that somebody else gets is longer than all of it.
const repeats = 5

// round measures every operation on each filesystem, which take turns to be the
// first.
func round(ctx context.Context, places []*place, turn int) (figures, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f := make(figures)
	for i, op := range operations {
		samples := make(map[string][]float64)
		for j := range op.times() * len(places) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			p := places[(i+j+turn)%len(places)]
			micros, err := op.measure(p)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", op.name, p.name, err)
			}
			samples[p.name] = append(samples[p.name], micros)
		}
		for name, all := range samples {
			f.set(op.name, name, median(all))
		}
	}
	return f, nil
}

func (op operation) times() int {
	if op.warm {
		return repeats
	}
	return 1
}

// measure returns the microseconds that one operation took.
func (op operation) measure(p *place) (float64, error) {
	if op.prepare != nil {
		if err := op.prepare(p); err != nil {
			return 0, err
		}
	}
	if op.warm {
		if _, err := op.run(p); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	count, err := op.run(p)
	took := time.Since(began)
	if err == nil && op.clean != nil {
		err = op.clean(p)
	}
	return float64(took.Nanoseconds()) / 1e3 / float64(count), err
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
