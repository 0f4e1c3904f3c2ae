//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"memfs/store"
)

// template is a directory with seeded stores, all alike; those who are measured
// get copies of it.
type template struct {
	shape
	dir   string
	infos []store.Info
}

// templateKey says which template it is.
type templateKey struct {
	shape  shape
	stores int
}

// seeded is how long ago a store was written that is measured: longer than a
// pass looks back.
const seeded = time.Hour

// template seeds n stores of a shape, once in a run.
func (b *bench) template(ctx context.Context, s shape, n int) (t template, err error) {
	key := templateKey{s, n}
	if t, ok := b.templates[key]; ok {
		return t, nil
	}
	t = template{shape: s, dir: filepath.Join(b.top, fmt.Sprint("template-", len(b.templates)))}
	r, err := serve(serveConfig{Dir: t.dir, Ago: seeded})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	for i := range n {
		info, err := r.api.CreateStore(ctx, fmt.Sprint("bench ", i), "")
		if err != nil {
			return t, err
		}
		t.infos = append(t.infos, info)
		if err := s.seed(ctx, r.api.Store(info.ID)); err != nil {
			return t, err
		}
	}
	b.templates[key] = t
	return t, nil
}

func (s shape) seed(ctx context.Context, client store.Client) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range s.count {
		group.Go(func() error {
			_, err := client.Create(ctx, s.path(i), s.text(i, 0))
			return err
		})
	}
	return group.Wait()
}

// copyTo makes the stores anew in a directory.
func (t template) copyTo(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(t.dir)); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}
