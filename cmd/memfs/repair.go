package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/mounted"
	"memfs/store"
)

func (a *app) repairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "repair PATH",
		Short: "Put a mount's marker file back, so that syncing goes on",
		Long: `Put back the marker file ` + store.MarkerName + ` in the root of the mount
that PATH is, or lies in. While it is missing or altered nothing is sent to the
store, deleted there or taken from it.`,
		Example: "  memfs repair /mnt/memory/notes",
		Args:    one("name a mounted path"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.repair(args[0]) },
	}
}

func (a *app) repair(path string) error {
	path, err := absolute(path)
	if err != nil {
		return err
	}
	m, err := mounted.At(path)
	if err != nil {
		return err
	}
	file, want := filepath.Join(m.Root, store.MarkerName), store.Marker(m.StoreID)
	was, err := os.ReadFile(file)
	switch {
	case err == nil && bytes.Equal(was, want) && m.Status.MarkerOK:
		_, err = fmt.Fprintf(a.stdout, "nothing was wrong with the marker of %s\n", m.Root)
		return err
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if info, statErr := os.Lstat(file); statErr == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory: move it away first", file)
	}
	if err == nil {
		err = mounted.Write(file, want)
	}
	if err != nil {
		return fmt.Errorf("the marker cannot be put back: %w", err)
	}
	now, err := os.ReadFile(file)
	if err == nil {
		err = m.Refresh()
	}
	if err != nil {
		return fmt.Errorf("the marker was written and cannot be checked: %w", err)
	}
	if !bytes.Equal(now, want) || !m.Status.MarkerOK {
		return fmt.Errorf("the marker was written and is wrong again: something else writes %s", file)
	}
	_, err = fmt.Fprintf(a.stdout, "the marker of %s is back: syncing goes on with the next pass\n", m.Root)
	return err
}
