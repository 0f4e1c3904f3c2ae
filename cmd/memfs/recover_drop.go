package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
)

func (r *recovery) dropCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "drop [WHAT...] --yes",
		Short: "Discard what is left, unsent edits included",
		Long: `Discard what is left, unsent edits included. Without --yes it only says what would
go. Texts in the conflict area stay: memfs conflicts drop.`,
		Example: "  memfs recover drop 4f2a91c3\n  memfs recover drop 4f2a91c3 --yes",
		RunE:    func(_ *cobra.Command, args []string) error { return r.drop(args, yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "discard it")
	return cmd
}

func (r *recovery) drop(words []string, yes bool) error {
	found, err := r.leftovers(words)
	if err != nil {
		return err
	}
	var errs []error
	meant := 0
	for _, l := range found {
		if l.State == stateHung {
			errs = append(errs, l.hung())
			continue
		}
		if l.State == stateLive {
			if len(words) > 0 {
				errs = append(errs, exitcode.Errorf(exitcode.Busy, "%s is in use by process %d: memfs unmount %s first", l.ID, l.PID, l.Path))
			}
			continue
		}
		meant++
		said := "would be discarded"
		if yes {
			said = "discarded"
			if err := l.found.Drop(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", l.ID, err))
				continue
			}
		}
		_, _ = fmt.Fprintf(r.stdout, "%s  %s %s: %s and %s %s\n", l.ID, l.Store, l.Path, count(len(l.Edits), "edit", "edits"), count(len(l.Deletes), "delete", "deletes"), said)
	}
	if meant > 0 && !yes {
		errs = append(errs, exitcode.Errorf(exitcode.Usage, "nothing was discarded: add --yes to discard it"))
	}
	return errors.Join(errs...)
}
