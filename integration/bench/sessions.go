//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"memfs/store"
)

// The rows of a session.
const (
	rowReady  = "ready for the first tool call"
	rowFirst  = "first byte of one file"
	rowAll    = "all contents here"
	rowIdle   = "idle pass"
	rowEdit   = "pass with one local edit"
	rowRemote = "one remote edit until visible"
	rowEnd    = "2000 edits until all are in the store"
	rowRename = "500-file directory renamed, pass"
	rowMoved  = "end after the rename"
)

var (
	flat = shape{count: 2000, size: memorySize}
	deep = shape{count: 2000, dirs: 50, size: memorySize}
	// big has one directory to be renamed.
	big = shape{count: 2000, dirs: 50, size: memorySize, big: moved}

	largeFlat = shape{count: 10_000, size: memorySize}
	largeDeep = shape{count: 10_000, dirs: 50, size: memorySize}
)

const (
	near = 20 * time.Millisecond
	far  = 100 * time.Millisecond
)

// latencies are what each request takes longer.
var latencies = []time.Duration{near, far}

// both take turns; official's last sync is out of the way when memfs begins.
var both = []string{official, ours}

func sessionGroup(s shape, latency time.Duration) string {
	return fmt.Sprintf("%s, %d ms a request", s, latency.Milliseconds())
}

// measureSessions measures starts, passes of every kind, and ends.
func measureSessions(ctx context.Context, b *bench) error {
	for _, latency := range latencies {
		starts, passes := b.starts, b.passes
		if latency == far {
			starts, passes = 1, 1 // what is waited for is the latency, which does not scatter
		}
		for _, s := range []shape{flat, deep} {
			if err := b.session(ctx, s, latency, starts, passes); err != nil {
				return fmt.Errorf("%s: %w", sessionGroup(s, latency), err)
			}
		}
	}
	return nil
}

// measureLarge measures starts at stores of 10,000.
func measureLarge(ctx context.Context, b *bench) error {
	for _, latency := range latencies {
		for _, s := range []shape{largeFlat, largeDeep} {
			if err := b.session(ctx, s, latency, 1, 0); err != nil {
				return fmt.Errorf("%s: %w", sessionGroup(s, latency), err)
			}
		}
	}
	return nil
}

// measureMany measures the start of a session with eight stores.
func measureMany(ctx context.Context, b *bench) error {
	s := b.scaled(shape{count: 500, dirs: 50, size: memorySize})
	t, err := b.template(ctx, s, 8)
	if err != nil {
		return err
	}
	for range b.starts {
		for _, peer := range both {
			g, err := b.started(ctx, "8 stores of "+sessionGroup(s, near), peer, t, near)
			if err != nil {
				return err
			}
			if err := g.close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// session measures one shape at one latency. The last round's peers go on with
// the passes.
func (b *bench) session(ctx context.Context, s shape, latency time.Duration, starts, passes int) (err error) {
	group := sessionGroup(s, latency)
	s = b.scaled(s)
	t, err := b.template(ctx, s, 1)
	if err != nil {
		return err
	}
	rigs := make(map[string]*rig)
	defer func() {
		for _, g := range rigs {
			err = errors.Join(err, g.close())
		}
	}()
	for i := range starts {
		for _, peer := range both {
			g, err := b.started(ctx, group, peer, t, latency)
			if err != nil {
				return fmt.Errorf("%s: start: %w", peer, err)
			}
			if i == starts-1 && passes > 0 {
				rigs[peer] = g
			} else if err := g.close(); err != nil {
				return err
			}
		}
	}
	if passes > 0 {
		for _, g := range rigs { // the first one tidies up after the start
			if _, err := g.do(doPass); err != nil {
				return err
			}
		}
	}
	for n := range passes {
		for _, kind := range []struct {
			row string
			do  func(*rig, context.Context, int) (cost, error)
		}{{rowIdle, (*rig).idle}, {rowEdit, (*rig).localEdit}, {rowRemote, (*rig).remoteEdit}} {
			for _, peer := range both {
				c, err := kind.do(rigs[peer], ctx, n)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", peer, kind.row, err)
				}
				b.report.addCost(group, kind.row, peer, c)
			}
		}
	}
	if passes == 0 || s.dirs == 0 || latency != near {
		return nil // the end takes long, and says the same
	}
	for _, peer := range both {
		c, err := rigs[peer].dirtyEnd(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", peer, err)
		}
		b.report.addCost(group, rowEnd, peer, c)
	}
	if err := b.rcloneSession(ctx, group, s, latency); err != nil {
		return fmt.Errorf("rclone: %w", err)
	}
	return nil
}

// started starts a peer and measures until it is ready, until a file can be
// read, and until all contents are here.
func (b *bench) started(ctx context.Context, group, peer string, t template, latency time.Duration) (g *rig, err error) {
	g, ready, err := b.start(ctx, peer, t, setting{latency: latency})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	read, err := g.holds(t.count/2, 0)
	if err != nil {
		return nil, err
	}
	rest, err := g.do(doAwait)
	if err != nil {
		return nil, err
	}
	first := ready
	first.seconds += read.Seconds()
	b.report.addCost(group, rowReady, peer, ready)
	b.report.add(group, rowFirst, seconds, peer, first.seconds)
	b.report.addCost(group, rowAll, peer, first.plus(rest))
	return g, nil
}

func (g *rig) idle(context.Context, int) (cost, error) { return g.do(doPass) }

// localEdit edits a file and has the peer send it.
func (g *rig) localEdit(ctx context.Context, n int) (cost, error) {
	edited := g.text(n, 1)
	if err := os.WriteFile(g.at(n), edited, 0o600); err != nil {
		return cost{}, err
	}
	c, err := g.do(doPass)
	if err != nil {
		return c, err
	}
	all, err := g.listed(ctx)
	if err == nil && all[g.path(n)].SHA != store.Hash(edited) {
		err = fmt.Errorf("%s was edited and not sent", g.path(n))
	}
	return c, err
}

// remoteEdit changes a memory and has the peer bring it here. The time is that
// of the pass and of the read after it.
func (g *rig) remoteEdit(ctx context.Context, n int) (cost, error) {
	n += g.count / 3
	all, err := g.listed(ctx)
	if err != nil {
		return cost{}, err
	}
	old, edited := all[g.path(n)], g.text(n, 2)
	if _, err := g.client.Update(ctx, old.ID, store.Update{Content: &edited, Expect: old.SHA}); err != nil {
		return cost{}, err
	}
	c, err := g.do(doPass)
	if err != nil {
		return c, err
	}
	read, err := g.holds(n, 2)
	c.seconds += read.Seconds()
	return c, err
}

// dirtyEnd changes every file and ends the session. The time is that of the
// changes and of the end.
func (g *rig) dirtyEnd(ctx context.Context) (cost, error) {
	began := time.Now()
	for i := range g.count {
		if err := os.WriteFile(g.at(i), g.text(i, 3), 0o600); err != nil {
			return cost{}, err
		}
	}
	wrote := time.Since(began)
	c, err := g.do(doEnd)
	if err != nil {
		return c, err
	}
	c.seconds += wrote.Seconds()
	all, err := g.listed(ctx)
	for i := range g.count {
		if err == nil && all[g.path(i)].SHA != store.Hash(g.text(i, 3)) {
			err = fmt.Errorf("%s is not in the store at the end", g.path(i))
		}
	}
	return c, err
}
