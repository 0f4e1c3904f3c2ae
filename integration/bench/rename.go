//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// renameGroup is the group of the renames.
var renameGroup = fmt.Sprintf("%d of 2000 renamed, %d ms a request", moved, near.Milliseconds())

// measureRenames renames a directory of 500 files, has one pass made, and ends
// the session.
func measureRenames(ctx context.Context, b *bench) error {
	t, err := b.template(ctx, b.scaled(big), 1)
	if err != nil {
		return err
	}
	for _, peer := range both {
		if err := b.rename(ctx, peer, t); err != nil {
			return fmt.Errorf("%s: %w", peer, err)
		}
	}
	return nil
}

func (b *bench) rename(ctx context.Context, peer string, t template) (err error) {
	group := renameGroup
	g, _, err := b.start(ctx, peer, t, setting{latency: near})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if _, err := g.do(doAwait); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(g.paths[0], "big"), filepath.Join(g.paths[0], "renamed")); err != nil {
		return err
	}
	for _, step := range []struct{ row, do string }{{rowRename, doPass}, {rowMoved, doEnd}} {
		c, err := g.do(step.do)
		if err != nil {
			return err
		}
		b.report.addCost(group, step.row, peer, c)
	}
	all, err := g.listed(ctx)
	if err != nil {
		return err
	}
	was, is := 0, 0
	for i := range t.big {
		path := t.path(i)
		if _, there := all[path]; there {
			was++
		}
		if _, there := all["/renamed"+path[len("/big"):]]; there {
			is++
		}
	}
	if was > 0 || is != t.big {
		b.report.note("%s: at the end of the session the store has %d of the %d renamed files under the new name and %d still under the old one",
			peer, is, t.big, was)
	}
	return nil
}
