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
	"memfs/store/local"
)

// cost is what something cost a peer.
type cost struct {
	seconds   float64
	requests  int64
	cpuMillis float64
}

func (c cost) plus(d cost) cost {
	return cost{c.seconds + d.seconds, c.requests + d.requests, c.cpuMillis + d.cpuMillis}
}

// rig is one peer at stores of its own, which are like every other peer's.
type rig struct {
	*benchchild.Child
	template
	remote *remote
	client store.Client // of the first store
	paths  []string     // where the peer has the files of each
	dir    string
	peer   string
	config peerConfig

	// What had been spent at the end of the last row.
	asked int64
	cpu   time.Duration
}

// setting is under what a peer is started.
type setting struct {
	latency time.Duration
	lazy    bool // contents are fetched only when they are read
	mounts  int  // of the one store; 0: each store once
}

// start starts a peer at a copy of the stores, and says what it cost until it
// was ready.
func (b *bench) start(ctx context.Context, peer string, t template, s setting) (g *rig, ready cost, err error) {
	if err := ctx.Err(); err != nil {
		return nil, ready, err
	}
	g = &rig{template: t, peer: peer}
	if g.dir, err = os.MkdirTemp(b.top, peer+"-"); err != nil {
		return nil, ready, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	stores := filepath.Join(g.dir, "stores")
	if err := t.copyTo(stores); err != nil {
		return nil, ready, err
	}
	if g.remote, err = serve(serveConfig{Dir: stores, Latency: s.latency}); err != nil {
		return nil, ready, err
	}
	g.client = g.remote.api.Store(t.infos[0].ID)
	c := peerConfig{URL: g.remote.Slow, State: filepath.Join(g.dir, "state"), Hydrate: !s.lazy, Profile: b.profileOf(peer)}
	for i := range max(s.mounts, len(t.infos)) {
		at := attached{t.infos[min(i, len(t.infos)-1)], filepath.Join(g.dir, "mnt", fmt.Sprint("bench-", i))}
		c.Stores, g.paths = append(c.Stores, at), append(g.paths, at.Path)
	}
	if s.mounts == 0 {
		if c.Session, err = g.session(c.Stores); err != nil {
			return nil, ready, err
		}
	}
	g.config = c
	ready, err = g.again()
	if peer == official {
		ready.requests-- // the session was read before the clock started
	}
	return g, ready, err
}

// again starts the peer, at what an earlier one of its kind may have left.
func (g *rig) again() (ready cost, err error) {
	var began spent
	if g.Child, err = benchchild.Start(g.peer, g.config, &began); err != nil {
		return ready, err
	}
	g.cpu = 0
	return g.since(began)
}

func (g *rig) session(stores []attached) (string, error) {
	spec := &local.SessionSpec{Script: local.Script{End: local.EndOpen}}
	for _, s := range stores {
		spec.Stores = append(spec.Stores, local.Attachment{Store: s.Info.ID, MountPath: &s.Path})
	}
	var answer serveAnswer
	err := g.remote.Ask(serveOrder{Start: spec}, &answer)
	return answer.Session, err
}

// since is what was spent since it was last asked.
func (g *rig) since(now spent) (cost, error) {
	asked, err := g.remote.requests()
	c := cost{now.Took.Seconds(), asked - g.asked, float64((now.CPU - g.cpu).Microseconds()) / 1e3}
	g.asked, g.cpu = asked, now.CPU
	return c, err
}

func (g *rig) do(what string) (cost, error) {
	var now spent
	if err := g.Ask(peerOrder{Do: what}, &now); err != nil {
		return cost{}, fmt.Errorf("%s: %w", what, err)
	}
	return g.since(now)
}

// at is where the peer has file i of the first store.
func (g *rig) at(i int) string { return filepath.Join(g.paths[0], g.path(i)) }

// holds checks what a file of the peer's holds, and says how long the reading took.
func (g *rig) holds(i, edition int) (time.Duration, error) {
	began := time.Now()
	here, err := os.ReadFile(g.at(i))
	if err == nil && string(here) != string(g.text(i, edition)) {
		err = fmt.Errorf("%s does not hold what it should", g.at(i))
	}
	return time.Since(began), err
}

// listed are the memories that the first store has, by path.
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
		errs = append(errs, g.End())
	}
	if g.remote != nil {
		errs = append(errs, g.remote.end())
	}
	return errors.Join(append(errs, os.RemoveAll(g.dir))...)
}
