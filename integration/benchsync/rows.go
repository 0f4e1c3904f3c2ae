//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memfs/store"
)

// The rows of the table.
const (
	rowReady  = "ready for the first tool call"
	rowFirst  = "first file read"
	rowAll    = "all contents here"
	rowIdle   = "idle pass"
	rowEdit   = "pass with one local edit"
	rowRemote = "one remote edit until visible"
	rowRename = "500-file directory renamed, pass"
	rowEnd    = "end with everything dirty"
	rowMoved  = "end after the rename"
)

// measured are the rows of one peer.
type measured map[string]figures

// measureStarts measures starts in rounds in which the peers take turns.
func measureStarts(ctx context.Context, t template, c config, top string, latency time.Duration, both map[string]measured) error {
	ready, first := map[string][]figures{}, map[string][]figures{}
	for range c.starts {
		for what := range strings.SplitSeq(c.only, ",") {
			m := measured{}
			if err := measureStart(ctx, t, what, top, latency, m); err != nil {
				return fmt.Errorf("%s: start: %w", what, err)
			}
			ready[what], first[what] = append(ready[what], m[rowReady]), append(first[what], m[rowFirst])
		}
	}
	for what := range ready {
		both[what][rowReady], both[what][rowFirst] = median(ready[what]), median(first[what])
	}
	return nil
}

// measureStart measures until the peer is ready and until the first content can
// be read, where nothing else is fetched.
func measureStart(ctx context.Context, t template, what, top string, latency time.Duration, m measured) (err error) {
	g, ready, err := t.start(ctx, what, top, latency, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	began := time.Now()
	if err := g.holds(1, 0); err != nil {
		return err
	}
	read := time.Since(began)
	first, err := g.do(doUsage)
	if err != nil {
		return err
	}
	m[rowReady] = ready
	m[rowFirst] = figures{ready.Seconds + read.Seconds(), ready.Requests + first.Requests, ready.CPUMillis + first.CPUMillis}
	_, err = g.do(doEnd)
	return err
}

// measurePasses measures a session that has all contents, with passes of all
// kinds, to its end.
func measurePasses(ctx context.Context, t template, what, top string, latency time.Duration, passes int, m measured) (err error) {
	g, ready, err := t.start(ctx, what, top, latency, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	rest, err := g.do(doAwait)
	if err != nil {
		return err
	}
	m[rowAll] = figures{ready.Seconds + rest.Seconds, ready.Requests + rest.Requests, ready.CPUMillis + rest.CPUMillis}

	var idle, edits, remotes []figures
	for n := range passes {
		f, err := g.do(doPass)
		if err != nil {
			return err
		}
		idle = append(idle, f)
		if f, err = g.localEdit(ctx, n); err != nil {
			return err
		}
		edits = append(edits, f)
		if f, err = g.remoteEdit(ctx, n); err != nil {
			return err
		}
		remotes = append(remotes, f)
	}
	m[rowIdle], m[rowEdit], m[rowRemote] = median(idle), median(edits), median(remotes)
	if t.shape.name == flat.name {
		return nil // the end is the same for all shapes, and takes long
	}
	m[rowEnd], err = g.dirtyEnd(ctx)
	return err
}

// localEdit edits a file and has the peer send it.
func (g *rig) localEdit(ctx context.Context, n int) (figures, error) {
	edited := text(n, 1)
	if err := os.WriteFile(g.at(n), edited, 0o600); err != nil {
		return figures{}, err
	}
	f, err := g.do(doPass)
	if err != nil {
		return f, err
	}
	all, err := g.listed(ctx)
	if err == nil && all[g.shape.path(n)].SHA != store.Hash(edited) {
		err = fmt.Errorf("%s was edited and not sent", g.shape.path(n))
	}
	return f, err
}

// remoteEdit changes a memory and has the peer bring it here. The time is that
// of the pass and of the read after it.
func (g *rig) remoteEdit(ctx context.Context, n int) (figures, error) {
	n += g.count / 2
	all, err := g.listed(ctx)
	if err != nil {
		return figures{}, err
	}
	old, edited := all[g.shape.path(n)], text(n, 2)
	if _, err := g.client.Update(ctx, old.ID, store.Update{Content: &edited, Expect: old.SHA}); err != nil {
		return figures{}, err
	}
	f, err := g.do(doPass)
	if err != nil {
		return f, err
	}
	began := time.Now()
	err = g.holds(n, 2)
	f.Seconds += time.Since(began).Seconds()
	return f, err
}

// holds checks what a file of the peer's holds.
func (g *rig) holds(i, edition int) error {
	here, err := os.ReadFile(g.at(i))
	if err == nil && string(here) != string(text(i, edition)) {
		err = fmt.Errorf("%s does not hold what it should", g.at(i))
	}
	return err
}

// dirtyEnd changes every file and ends the session.
func (g *rig) dirtyEnd(ctx context.Context) (figures, error) {
	for i := range g.count {
		if err := os.WriteFile(g.at(i), text(i, 3), 0o600); err != nil {
			return figures{}, err
		}
	}
	f, err := g.do(doEnd)
	if err != nil {
		return f, err
	}
	all, err := g.listed(ctx)
	for i := range g.count {
		if err == nil && all[g.shape.path(i)].SHA != store.Hash(text(i, 3)) {
			err = fmt.Errorf("%s is not in the store at the end", g.shape.path(i))
		}
	}
	return f, err
}

// left says what a rename left in the store under both names.
type left struct{ Old, New int }

// measureRename renames a directory of 500 files, has one pass made, and ends
// the session.
func measureRename(ctx context.Context, t template, what, top string, latency time.Duration, m measured) (after left, err error) {
	g, _, err := t.start(ctx, what, top, latency, true)
	if err != nil {
		return after, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if _, err := g.do(doAwait); err != nil {
		return after, err
	}
	if err := os.Rename(filepath.Join(g.path, "big"), filepath.Join(g.path, "renamed")); err != nil {
		return after, err
	}
	if m[rowRename], err = g.do(doPass); err != nil {
		return after, err
	}
	if m[rowMoved], err = g.do(doEnd); err != nil {
		return after, err
	}
	all, err := g.listed(ctx)
	for i := range moved {
		if _, there := all[big.path(i)]; there {
			after.Old++
		}
		if _, there := all["/renamed"+big.path(i)[len("/big"):]]; there {
			after.New++
		}
	}
	return after, err
}

// median takes each figure's median by itself.
func median(all []figures) (m figures) {
	m.Seconds = middle(all, func(f figures) float64 { return f.Seconds })
	m.Requests = middle(all, func(f figures) int64 { return f.Requests })
	m.CPUMillis = middle(all, func(f figures) float64 { return f.CPUMillis })
	return m
}

func middle[T cmp.Ordered](all []figures, of func(figures) T) T {
	values := make([]T, len(all))
	for i, f := range all {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
