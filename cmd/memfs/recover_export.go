package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store/replica"
)

func (r *recovery) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR [WHAT...]",
		Short: "Save the texts that were not sent as plain files under DIR",
		Long: `Save the texts that were not sent as plain files: DIR/ID/path. Nothing is sent and
nothing is removed; a file that is there already is not overwritten. Deletes that
were not sent are named.`,
		Example: "  memfs recover export ./saved\n  memfs recover export ./saved 4f2a91c3",
		Args:    words(1, "name the directory to save to"),
		RunE:    func(_ *cobra.Command, args []string) error { return r.export(args[0], args[1:]) },
	}
}

func (r *recovery) export(dir string, words []string) error {
	found, err := r.leftovers(words)
	if err != nil {
		return err
	}
	var errs []error
	saved := 0
	for _, l := range found {
		switch {
		case l.State == stateLive && len(words) > 0:
			errs = append(errs, exitcode.Errorf(exitcode.Busy, "%s is in use by process %d: its files are in %s", l.ID, l.PID, l.Path))
		case l.State == stateUnreadable, l.State == stateHung:
			errs = append(errs, l.unsendable())
		case len(l.Edits)+len(l.Deletes) > 0:
			n, err := r.exportOne(filepath.Join(dir, l.ID), l)
			saved += n
			errs = append(errs, err)
		}
	}
	_, _ = fmt.Fprintf(r.stdout, "%s saved\n", count(saved, "file", "files"))
	return errors.Join(errs...)
}

// exportOne saves one leftover's texts and returns how many.
func (r *recovery) exportOne(dir string, l leftover) (saved int, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	// Paths come from a journal: none of them leads out of the directory.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = replica.Look(l.found.Options(), func(opened *replica.Replica) error {
		var errs []error
		for _, text := range opened.Snapshot(nil, nil).Unsaved() {
			content, err := opened.Content(text.Ino, text.Gen)
			if err == nil {
				err = save(root, text.Path, content)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s%s: %w", l.ID, text.Path, err))
				continue
			}
			saved++
			_, _ = fmt.Fprintln(r.stdout, filepath.Join(dir, filepath.FromSlash(text.Path)))
		}
		return errors.Join(errs...)
	})
	for _, gone := range l.Deletes {
		_, _ = fmt.Fprintf(r.stdout, "deleted here, and not in the store: %s\n", gone)
	}
	return saved, err
}

func save(root *os.Root, name string, content []byte) (err error) {
	name = name[1:] // of the path in the store
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	for n := 2; errors.Is(err, fs.ErrExist) && n < 10; n++ {
		// Two texts of one path, or an earlier export.
		f, err = root.OpenFile(fmt.Sprintf("%s.%d", name, n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(content)
	return err
}
