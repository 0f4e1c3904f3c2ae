//go:build linux

package main

import (
	"context"

	"memfs/store"
)

const (
	coldRounds = 3
	// unfetchedFiles are read where the content is still in the store.
	unfetchedFiles = 200

	coldStat  = "first stat after the mount"
	coldRead  = "first read after that"
	fetchRead = "first read, content in the store"
)

// measureCold measures the first stat and read after a mount: with the contents
// here, as after a mount with --keep-cache or once they are hydrated, and with
// the contents in the store. The ext4 to compare with is the one in the loop
// file, mounted anew.
func measureCold(ctx context.Context, b *bench) error {
	dir, err := b.newDir("store")
	if err != nil {
		return err
	}
	remote, err := b.serve(dir, 0)
	if err != nil {
		return err
	}
	info, err := remote.seed(ctx, usual)
	if err != nil {
		return err
	}
	state, err := b.newDir("state")
	if err != nil {
		return err
	}
	journaled, l, err := b.journaled()
	if err != nil {
		return err
	}
	for i := range coldRounds + 1 { // the first brings the contents here
		f := make(figures)
		if err := coldMemfs(b, remote.url, info, state, f); err != nil {
			return err
		}
		if err := fetchMemfs(b, remote.url, info, f); err != nil {
			return err
		}
		if journaled != nil {
			if err := coldExt4(journaled, l, f); err != nil {
				return err
			}
		}
		if i > 0 {
			b.report.add(f)
		}
	}
	return nil
}

func coldMemfs(b *bench, url string, info store.Info, state string, f figures) error {
	m, err := b.coldMount(url, info, state, true)
	if err != nil {
		return err
	}
	defer func() { _ = m.End() }()
	if err := m.await(); err != nil {
		return err
	}
	return readCold(newPlace(onMemfs, m.path), f)
}

func coldExt4(p *place, l *loop, f figures) error {
	if err := l.unmount(); err != nil {
		return err
	}
	if err := l.mount(); err != nil {
		return err
	}
	return readCold(p, f)
}

func readCold(p *place, f figures) error {
	for _, c := range []struct{ name, op string }{{coldStat, "stat"}, {coldRead, "open+read+close"}} {
		op := operationNamed(c.op)
		op.warm = false
		micros, err := op.measure(p)
		if err != nil {
			return err
		}
		f.set(c.name, p.name, micros)
	}
	return nil
}

func fetchMemfs(b *bench, url string, info store.Info, f figures) error {
	m, err := b.coldMount(url, info, "", false)
	if err != nil {
		return err
	}
	defer func() { _ = m.End() }()
	p := newPlace(onMemfs, m.path)
	fetch := operation{run: each(unfetchedFiles, func(p *place, i int) error { return p.read(p.files[i], usual.size) })}
	micros, err := fetch.measure(p)
	if err != nil {
		return err
	}
	f.set(fetchRead, p.name, micros)
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
