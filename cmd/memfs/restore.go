package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/mounted"
	"memfs/store"
)

func (a *app) restoreCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore FILE VERSION",
		Short: "Give a file the text of an earlier version",
		Long: `Give a file in a mount the text of an earlier version, which memfs history lists.
It shows what changes and asks first. The text is written forward, as an ordinary
edit in the mount, and goes to the store with the next pass: no version is lost.

VERSION may be cut short, as long as it names one version. A redacted version
cannot be restored.`,
		Example: "  memfs restore /mnt/memory/notes/plan.md memver_01ABC\n  memfs restore plan.md memver_01ABC --yes",
		Args:    cobra.MatchAll(words(2, "name a file in a mount and one of its versions"), cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restore(cmd.Context(), args[0], args[1], yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) restore(ctx context.Context, file, version string, yes bool) error {
	b, done, err := a.open()
	if err != nil {
		return err
	}
	defer done()
	s, err := subjectOf(ctx, b.Reader, file)
	if err != nil {
		return err
	}
	if !s.Writable() {
		return fmt.Errorf("%s is mounted read-only: what is restored there would never be sent", s.Root)
	}
	v, err := s.version(ctx, version)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(s.file)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if there && bytes.Equal(now, v.Content) {
		_, err = fmt.Fprintf(a.stdout, "%s holds the text of %s already\n", s.file, v.ID)
		return err
	}
	from := side{s.file, now}
	if !there {
		from.name = os.DevNull
	}
	if err := a.printDiff(from, side{s.file + " (" + v.ID + ")", v.Content}); err != nil {
		return err
	}
	if err := a.agreed("Write this to "+s.file+"?", yes); err != nil {
		return err
	}
	if err := mounted.Write(s.file, v.Content); err != nil {
		return fmt.Errorf("the text of %s cannot be written: %w", v.ID, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s has the text of %s; the next pass sends it\n", s.file, v.ID)
	return err
}

// version is the one of the memory's versions that a word names, with its
// content.
func (s subject) version(ctx context.Context, word string) (store.Version, error) {
	all, err := s.versions(ctx)
	if err != nil {
		return store.Version{}, err
	}
	var meant []store.Version
	for _, v := range all {
		if v.ID == word {
			meant = []store.Version{v}
			break
		}
		if strings.HasPrefix(v.ID, word) {
			meant = append(meant, v)
		}
	}
	switch {
	case len(meant) == 0:
		return store.Version{}, exitcode.Errorf(exitcode.Usage, "%s has no version %s: memfs history lists them", s.path, word)
	case len(meant) > 1:
		return store.Version{}, exitcode.Errorf(exitcode.Usage, "%d versions of %s begin with %s: write more of it", len(meant), s.path, word)
	}
	v := meant[0]
	switch {
	case v.Redacted():
		return v, fmt.Errorf("version %s was redacted on %s: its text is gone", v.ID, moment(v.RedactedAt))
	case v.Operation == store.Deleted:
		return v, fmt.Errorf("version %s is a delete and has no text: choose the one before it", v.ID)
	}
	v, err = s.reader.Version(ctx, v.ID)
	switch {
	case err != nil:
		return v, err
	case v.Redacted():
		return v, fmt.Errorf("version %s was redacted on %s: its text is gone", v.ID, moment(v.RedactedAt))
	case store.Hash(v.Content) != v.SHA:
		return v, fmt.Errorf("version %s: %w: its text is not what its hash says", v.ID, store.ErrProtocol)
	}
	return v, nil
}
