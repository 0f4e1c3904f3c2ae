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

// filesGroup is the group of the file operations.
const filesGroup = "one operation, 2000 files of 4 KB in 50 directories"

// measureFiles measures every operation on every filesystem, in rounds.
func measureFiles(ctx context.Context, b *bench) error {
	t, err := b.template(ctx, usual, 1)
	if err != nil {
		return err
	}
	g, _, err := b.start(ctx, ours, t, setting{})
	if err != nil {
		return err
	}
	b.after(g.close)
	if _, err := g.do(doAwait); err != nil {
		return err
	}
	places := []*place{newPlace(ours, g.paths[0])}
	for _, make := range []func() (*place, error){b.ext4, func() (*place, error) { p, _, err := b.loopPlace(); return p, err }, b.rclonePlace} {
		p, err := make()
		if err != nil {
			return err
		}
		if p != nil {
			places = append(places, p)
		}
	}
	for _, p := range places {
		if err := p.put(p.large, p.largeText, createFlags); err != nil {
			return err
		}
	}
	if _, err := round(ctx, places, 0); err != nil { // a warm-up
		return err
	}
	for i := range b.rounds {
		if i == slowRounds {
			places = slices.DeleteFunc(places, func(p *place) bool { return p.slow })
		}
		times, err := round(ctx, places, i)
		if err != nil {
			return err
		}
		b.report.addFigures(times)
	}
	u, err := usage(g.PID())
	if err != nil {
		return err
	}
	b.report.note("after %d rounds of file operations memfs has %.0f MB resident, %.0f without pages of files", b.rounds, inMB(u.resident), inMB(u.private))
	return nil
}

// addFigures takes in a round, in the order of the table.
func (r *report) addFigures(f figures) {
	for _, op := range operations {
		for peer, value := range f[op.name] {
			r.add(filesGroup, op.name, micros, peer, value)
		}
	}
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

// slowRounds is how many rounds a slow place is in, where it is measured once.
const slowRounds = 2

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
			if p.slow && j >= len(places) {
				continue
			}
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
