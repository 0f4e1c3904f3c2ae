package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/mounted"
	"memfs/store"
)

func (l *losers) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore ID...",
		Short: "Put texts that lost back to their paths",
		Long: `Put texts that lost back to their paths, over what stands there now: in the mount,
as an ordinary edit, or where the store is not mounted in the store itself. What
stood there stays in the store's history. A restored text is no longer kept aside.

What lost under read-only access cannot be restored: memfs conflicts show prints
it.`,
		Example: "  memfs conflicts restore K3QF",
		Args:    words(1, "name a losing text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, done, err := l.open()
			if err != nil {
				return err
			}
			defer done()
			var errs []error
			for _, word := range args {
				errs = append(errs, l.restore(cmd.Context(), all, word))
			}
			return errors.Join(errs...)
		},
	}
}

func (l *losers) restore(ctx context.Context, all []loser, word string) error {
	e, err := loserOf(all, word)
	if err != nil {
		return err
	}
	text, _, err := e.area.Text(e.ID)
	if err != nil {
		return err
	}
	where, err := l.putBack(ctx, e, text)
	if err != nil {
		return fmt.Errorf("%s of store %s: %w", e.Path, e.StoreID, err)
	}
	if err := e.area.Drop(e.ID); err != nil {
		return fmt.Errorf("restored to %s, and still kept: %w", where, err)
	}
	_, err = fmt.Fprintf(l.stdout, "%s  restored to %s\n", e.ID, where)
	return err
}

// putBack writes a text forward and says where: through a mount that is sent,
// else to the store.
func (l *losers) putBack(ctx context.Context, e loser, text []byte) (where string, err error) {
	mounts, err := e.mounts()
	if err != nil {
		return "", err
	}
	for _, m := range mounts {
		if !m.Writable() {
			continue
		}
		file, err := m.Path(e.Path)
		if err != nil {
			return "", err
		}
		if now, err := os.ReadFile(file); err == nil && bytes.Equal(now, text) {
			return file, nil
		}
		return file + "; the next pass sends it", mounted.Write(file, text)
	}
	if e.ReadOnly || len(mounts) > 0 {
		return "", fmt.Errorf("%w: memfs conflicts show %s prints the text", store.ErrReadOnly, e.ID)
	}
	client, done, err := l.store(e)
	if err != nil {
		return "", err
	}
	defer done()
	return "the store", send(ctx, client, e.Path, text)
}

// send makes a path of a store have a text, unless somebody changes it in this
// moment.
func send(ctx context.Context, client store.Client, path string, text []byte) error {
	m, found, err := memoryAt(ctx, client, path)
	switch {
	case err != nil:
		return err
	case !found:
		_, err = client.Create(ctx, path, text)
	case m.SHA != store.Hash(text):
		_, err = client.Update(ctx, m.ID, store.Update{Content: &text, Expect: m.SHA})
	}
	return err
}
