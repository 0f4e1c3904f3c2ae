//go:build linux

package main

import (
	"context"
	"errors"
)

const (
	// unfetched is how many files are read whose content is in the store.
	unfetched = 200

	coldGroup = "one operation, just mounted"
	coldStat  = "first stat after the mount"
	coldRead  = "first read after that"
	fetchRead = "first read, content in the store"
)

// measureCold measures the first stat and read after a mount: with the contents
// here, as after a mount with --keep-cache, and with the contents in the store.
// The ext4 to compare with is the one in the loop file, mounted anew.
func measureCold(ctx context.Context, b *bench) error {
	t, err := b.template(ctx, usual, 1)
	if err != nil {
		return err
	}
	loop, l, err := b.loopPlace()
	if err != nil {
		return err
	}
	for range b.starts {
		if err := b.coldMemfs(ctx, t); err != nil {
			return err
		}
		if loop == nil {
			continue
		}
		if err := errors.Join(l.unmount(), l.mount()); err != nil {
			return err
		}
		if err := b.readCold(loop); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) coldMemfs(ctx context.Context, t template) (err error) {
	g, _, err := b.start(ctx, ours, t, setting{lazy: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	p := newPlace(ours, g.paths[0])
	fetch := operation{run: each(unfetched, func(p *place, i int) error { return p.read(p.files[i], usual.size) })}
	took, err := fetch.measure(p)
	if err != nil {
		return err
	}
	g.config.Hydrate, g.config.Keep = true, true
	for range 2 { // contents come here, and then are here
		if err := g.End(); err != nil {
			return err
		}
		if _, err := g.again(); err != nil {
			return err
		}
		if _, err := g.do(doAwait); err != nil {
			return err
		}
	}
	if err := b.readCold(p); err != nil {
		return err
	}
	b.report.add(coldGroup, fetchRead, micros, ours, took)
	return nil
}

func (b *bench) readCold(p *place) error {
	for _, c := range []struct{ name, op string }{{coldStat, "stat"}, {coldRead, "open+read+close"}} {
		op := operationNamed(c.op)
		op.warm = false
		took, err := op.measure(p)
		if err != nil {
			return err
		}
		b.report.add(coldGroup, c.name, micros, p.name, took)
	}
	return nil
}

func operationNamed(name string) operation {
	for _, op := range operations {
		if op.name == name {
			return op
		}
	}
	panic("no operation is called " + name)
}
