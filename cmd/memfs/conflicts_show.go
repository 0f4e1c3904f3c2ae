package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/mounted"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store"
	"memfs/store/replica/conflicts"
)

func (l *losers) showCommand() *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print a text that lost, or what it would change",
		Long: `Print a text that lost. On a terminal, or with --diff, print a unified diff from
what stands at its path now, in the mount or else in the store, to that text.`,
		Example: "  memfs conflicts show K3QF > mine.md",
		Args:    one("name one losing text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := cmd.Flags().Changed("diff")
			return l.show(cmd.Context(), args[0], diff || !asked && l.onTerminal(), asked)
		},
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "print what it would change (the default on a terminal)")
	cmd.Flags().Lookup("diff").DefValue = "on a terminal"
	return cmd
}

// show prints a text. Where a diff was not asked for, the text alone will do.
func (l *losers) show(ctx context.Context, word string, diff, asked bool) error {
	all, done, err := l.open()
	if err != nil {
		return err
	}
	defer done()
	e, text, err := l.text(all, word)
	if err != nil {
		return err
	}
	if !diff {
		_, err := l.stdout.Write(text)
		return err
	}
	now, err := l.present(ctx, e)
	if err != nil && asked {
		return err
	}
	if err != nil {
		l.log.Warn("what stands at the path now cannot be had; this is the text alone", zap.String("code", "conflicts"), zap.Error(err))
		_, err := fmt.Fprint(l.stdout, visible.Text(string(text)))
		return err
	}
	return l.printDiff(now, side{e.Path + " (" + e.ID + ")", text})
}

// text is the text that a word names. One that was altered, or whose
// description is damaged, is better than none.
func (l *losers) text(all []loser, word string) (loser, []byte, error) {
	e, err := loserOf(all, word)
	if err != nil {
		return e, nil, err
	}
	text, _, err := e.area.Text(e.ID)
	if errors.Is(err, conflicts.ErrDamaged) && text != nil {
		l.log.Warn("the text is not the one that was kept", zap.String("code", "conflicts"), zap.Error(err))
		err = nil
	}
	return e, text, err
}

// present is what stands at a text's path now: in a mount, else in the store.
func (l *losers) present(ctx context.Context, e loser) (side, error) {
	mounts, err := e.mounts()
	if err != nil {
		return side{}, err
	}
	if len(mounts) > 0 {
		file, err := mounts[0].Path(e.Path)
		if err != nil {
			return side{}, err
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return side{os.DevNull, nil}, nil
		}
		return side{file, text}, err
	}
	client, done, err := l.store(e)
	if err != nil {
		return side{}, err
	}
	defer done()
	m, found, err := memoryAt(ctx, client, e.Path)
	if err == nil && found {
		m, err = client.Get(ctx, m.ID)
	}
	switch {
	case err != nil:
		return side{}, err
	case !found:
		return side{os.DevNull, nil}, nil
	default:
		return side{e.Path + " (in the store)", m.Content}, nil
	}
}

// mounts are those of the store that the text lost against. A store of the same
// id at another endpoint is not meant.
func (e loser) mounts() ([]mounted.Mount, error) {
	all, err := mounted.Of(e.StoreID)
	return slices.DeleteFunc(all, func(m mounted.Mount) bool { return !e.area.Is(m.Status.Area) }), err
}

// store is the store that a text lost against. Another API with a store of the
// same id is not meant.
func (l *losers) store(e loser) (client store.Client, done func(), err error) {
	b, done, err := l.app.open()
	if err != nil {
		return nil, nil, err
	}
	if !e.area.Of(b.Endpoint, e.StoreID) {
		done()
		return nil, nil, fmt.Errorf("store %s is not mounted here, and the text did not lose against %s: set ANTHROPIC_BASE_URL, or --local, as it was when the store was mounted",
			e.StoreID, b.Endpoint)
	}
	return b.Store(e.StoreID), done, nil
}
