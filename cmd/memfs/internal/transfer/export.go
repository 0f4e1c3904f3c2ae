package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"memfs/reconcile"
	"memfs/store"
)

// Export copies a store into a directory, which is made if need be. Nothing
// outside of it is touched, whatever links lie in it.
func Export(ctx context.Context, r store.Reader, dir string, o Options) (Result, error) {
	memories, err := list(ctx, r)
	if err != nil {
		return Result{}, err
	}
	if !o.DryRun {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Result{}, err
		}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) { // nothing is there yet, and nothing is to be made
		return each(ctx, memories, o, func(_ context.Context, m store.Memory) (Item, error) {
			return Item{Path: m.Path, Outcome: Created}, mappable(m.Path)
		})
	}
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	e := exporter{reader: r, root: root, o: o}
	return each(ctx, memories, o, e.one)
}

func mappable(path string) error {
	if !reconcile.Mappable(path) {
		return errors.New("no file can have this path")
	}
	return nil
}

type exporter struct {
	reader store.Reader
	root   *os.Root
	o      Options
}

func (e *exporter) one(ctx context.Context, m store.Memory) (Item, error) {
	item := Item{Path: m.Path, Outcome: Created}
	if err := mappable(m.Path); err != nil {
		return item, err
	}
	name := m.Path[1:]
	here, err := e.root.ReadFile(name)
	switch {
	case err == nil && store.Hash(here) == m.SHA:
		item.Outcome = Same
		return item, nil
	case err == nil && !e.o.Overwrite:
		item.Outcome, item.Reason = Differs, "the file has another text"
		return item, nil
	case err == nil:
		item.Outcome = Updated
	case !errors.Is(err, fs.ErrNotExist):
		return item, err
	}
	if e.o.DryRun {
		return item, nil
	}
	var got store.Memory
	if err := patiently(ctx, func() (err error) { got, err = e.reader.Get(ctx, m.ID); return err }); err != nil {
		return item, err
	}
	return item, e.write(name, got)
}

// write puts a file in place whole: a copy that is cut off leaves none that is
// half.
func (e *exporter) write(name string, m store.Memory) (err error) {
	if err := e.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), ".memfs-"+rand.Text()+"~")
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", name, err), gone(e.root.Remove(temp)))
		}
	}()
	if err := e.root.WriteFile(temp, m.Content, 0o600); err != nil {
		return err
	}
	if err := e.root.Chtimes(temp, m.UpdatedAt, m.UpdatedAt); err != nil {
		return err
	}
	return e.root.Rename(temp, name)
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
