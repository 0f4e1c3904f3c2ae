package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"memfs/store"
	"memfs/store/replica"
)

// Import copies the files of a directory into a store. Nothing is deleted
// there. Symbolic links are not followed.
func Import(ctx context.Context, c store.Client, dir string, o Options) (Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	names, err := walk(root.FS())
	if err != nil {
		return Result{}, err
	}
	memories, err := list(ctx, c)
	if err != nil {
		return Result{}, err
	}
	i := importer{client: c, root: root, o: o, there: map[string]store.Memory{}, taken: map[string]string{}}
	for _, m := range memories {
		i.there[m.Path] = m
	}
	for _, name := range names { // of two forms of one name the first has it
		if path := memoryPath(name); i.taken[path] == "" {
			i.taken[path] = name
		}
	}
	return each(ctx, names, o, i.one)
}

// walk lists everything in a directory that is not one itself.
func walk(dir fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

func memoryPath(name string) string { return "/" + store.NormalName(name) }

type importer struct {
	client store.Client
	root   *os.Root
	o      Options
	there  map[string]store.Memory
	taken  map[string]string
}

func (i *importer) one(ctx context.Context, name string) (Item, error) {
	item := Item{Path: memoryPath(name)}
	if name == store.MarkerName || replica.DefaultScratch().Match(name) {
		item.Outcome = LocalOnly
		return item, nil
	}
	if other := i.taken[item.Path]; other != name {
		return item, fmt.Errorf("the store holds names in one Unicode form: it is the same as %q", other)
	}
	if err := store.CheckPath(item.Path); err != nil {
		return item, err
	}
	content, err := i.read(name)
	if err != nil {
		return item, err
	}
	there, ok := i.there[item.Path]
	switch {
	case !ok:
		item.Outcome = Created
	case there.SHA == store.Hash(content):
		item.Outcome = Same
	case i.o.Overwrite:
		item.Outcome = Updated
	default:
		item.Outcome, item.Reason = Differs, "the memory has another text"
	}
	if i.o.DryRun {
		return item, nil
	}
	switch item.Outcome {
	case Created:
		return i.create(ctx, item, content)
	case Updated:
		return item, patiently(ctx, func() error {
			_, err := i.client.Update(ctx, there.ID, store.Update{Content: &content, Expect: there.SHA})
			return err
		})
	}
	return item, nil
}

// create makes a memory. One that is there by then with the same text is ours:
// the answer of an earlier try was lost.
func (i *importer) create(ctx context.Context, item Item, content []byte) (Item, error) {
	err := patiently(ctx, func() error {
		_, err := i.client.Create(ctx, item.Path, content)
		return err
	})
	var blocked *store.PathConflictError
	if !errors.As(err, &blocked) || blocked.ID == "" {
		return item, err
	}
	m, getErr := i.client.Get(ctx, blocked.ID)
	if getErr == nil && m.Path == item.Path && m.SHA == store.Hash(content) {
		return item, nil
	}
	return item, err
}

// read is the content of a regular file, if a memory can have it.
func (i *importer) read(name string) (content []byte, err error) {
	info, err := i.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	f, err := i.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content, err = io.ReadAll(io.LimitReader(f, store.MaxContent+1))
	if err != nil {
		return nil, err
	}
	return content, store.CheckContent(content)
}
