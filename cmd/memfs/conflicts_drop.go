package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store/replica/conflicts"
)

func (l *losers) dropCommand() *cobra.Command {
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "drop ID... | --all",
		Short: "Discard texts that lost",
		Long:  `Discard texts that lost, for good. It asks first.`,
		Example: `  memfs conflicts drop K3QF
  memfs conflicts drop --all --yes`,
		RunE: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return exitcode.Errorf(exitcode.Usage, "name the losing texts to drop, or --all")
			}
			return l.drop(args, yes)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "discard every losing text in the state directory")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// drop discards the texts that words name; no words, all of them.
func (l *losers) drop(words []string, yes bool) error {
	all, done, err := l.open()
	if err != nil {
		return err
	}
	defer done()
	chosen := all
	if len(words) > 0 {
		chosen = nil
		for _, word := range words {
			e, err := loserOf(all, word)
			if err != nil {
				return err
			}
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		_, err := fmt.Fprintln(l.stdout, "no text lost")
		return err
	}
	if err := l.agreed("Discard "+losingTexts(len(chosen))+" for good?", yes); err != nil {
		return err
	}
	var errs []error
	for _, e := range chosen {
		err := e.area.Drop(e.ID)
		if err != nil && !errors.Is(err, conflicts.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		_, _ = fmt.Fprintf(l.stdout, "%s  dropped\n", e.ID)
	}
	return errors.Join(errs...)
}

func losingTexts(n int) string {
	if n == 1 {
		return "1 losing text"
	}
	return fmt.Sprintf("%d losing texts", n)
}
