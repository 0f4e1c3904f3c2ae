//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"memfs/integration/benchchild"
	"memfs/store"
)

// The two peers, by the argument that starts them.
const (
	ours     = "memfs"
	official = "official"
)

// figures are what something cost a peer.
type figures struct {
	Seconds   float64 `json:"seconds"`
	Requests  int64   `json:"requests"`
	CPUMillis float64 `json:"cpu_ms"`
}

// rig is one peer at a store of its own, which is like every other peer's.
type rig struct {
	*benchchild.Child
	remote *remote
	client store.Client
	path   string // where the peer has the files
	dir    string
	shape  shape
	count  int // of memories

	// What had been spent at the end of the last row.
	requests int64
	cpu      time.Duration
}

// template is a seeded store that rigs get a copy of.
type template struct {
	dir   string
	info  store.Info
	shape shape
	count int
}

// start starts a peer at a copy of the store, and says what it cost until it
// was ready.
func (t template) start(ctx context.Context, what, top string, latency time.Duration, hydrate bool) (g *rig, ready figures, err error) {
	if err := ctx.Err(); err != nil {
		return nil, ready, err
	}
	g = &rig{shape: t.shape, count: t.count}
	if g.dir, err = os.MkdirTemp(top, what+"-"); err != nil {
		return nil, ready, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	stores := filepath.Join(g.dir, "stores")
	if err := os.CopyFS(stores, os.DirFS(t.dir)); err != nil {
		return nil, ready, err
	}
	if err := os.Chmod(stores, 0o700); err != nil {
		return nil, ready, err
	}
	if g.remote, err = serve(serveConfig{Dir: stores, Latency: latency}); err != nil {
		return nil, ready, err
	}
	g.client, g.path = g.remote.api.Store(t.info.ID), filepath.Join(g.dir, "mnt", "bench")
	c := peerConfig{URL: g.remote.Slow, Store: t.info, Path: g.path, State: filepath.Join(g.dir, "state"), Hydrate: hydrate}
	if c.Session, err = g.remote.session(t.info.ID, g.path); err != nil {
		return nil, ready, err
	}
	var cost spent
	if g.Child, err = benchchild.Start(what, c, &cost); err != nil {
		return nil, ready, err
	}
	ready, err = g.since(cost)
	if what == official {
		ready.Requests-- // the session was read before the clock started
	}
	return g, ready, err
}

// since is what was spent since it was last asked.
func (g *rig) since(cost spent) (figures, error) {
	requests, err := g.remote.requests()
	f := figures{Seconds: cost.Took.Seconds(), Requests: requests - g.requests, CPUMillis: float64((cost.CPU - g.cpu).Microseconds()) / 1e3}
	g.requests, g.cpu = requests, cost.CPU
	return f, err
}

func (g *rig) do(what string) (figures, error) {
	var cost spent
	if err := g.Ask(peerOrder{what}, &cost); err != nil {
		return figures{}, fmt.Errorf("%s: %w", what, err)
	}
	return g.since(cost)
}

// at is where the peer has file i.
func (g *rig) at(i int) string { return filepath.Join(g.path, g.shape.path(i)) }

// listed are the memories that the store has, by path.
func (g *rig) listed(ctx context.Context) (map[string]store.Memory, error) {
	all := map[string]store.Memory{}
	for q := (store.ListQuery{}); ; {
		page, err := g.client.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			all[m.Path] = m
		}
		if page.Next == "" {
			return all, nil
		}
		q.Page = page.Next
	}
}

func (g *rig) close() error {
	var errs []error
	if g.Child != nil {
		errs = append(errs, g.Child.End())
	}
	if g.remote != nil {
		errs = append(errs, g.remote.end())
	}
	return errors.Join(append(errs, os.RemoveAll(g.dir))...)
}
