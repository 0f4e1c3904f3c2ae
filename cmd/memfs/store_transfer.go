package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/transfer"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store"
	"memfs/store/claude"
)

// transferSettings are the flags of store import and export.
type transferSettings struct {
	dryRun, overwrite, json, create bool
}

func (s *transferSettings) define(cmd *cobra.Command, other string) {
	set := cmd.Flags()
	set.BoolVar(&s.dryRun, "dry-run", false, "print what would be done, and do nothing")
	set.BoolVar(&s.overwrite, "overwrite", false, "replace "+other+" whose text differs")
	set.BoolVar(&s.json, "json", false, "print what became of each as JSON")
}

func (a *app) storeExportCommand() *cobra.Command {
	var s transferSettings
	cmd := &cobra.Command{
		Use:   "export STORE DIRECTORY",
		Short: "Copy a store into a directory",
		Long: `Copy the memories of a store into a directory, byte for byte. Files that are
there already with the same text are left alone, so that an export which was cut
off can be run again; files with another text stay too, and are named, unless
--overwrite is given. Nothing is deleted.`,
		Example:           "  memfs store export notes ./backup\n  memfs store export notes ./backup --dry-run",
		Args:              cobra.MatchAll(words(2, "name the store and the directory"), cobra.ExactArgs(2)),
		ValidArgsFunction: a.completeStore(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[1]); err == nil && !info.IsDir() {
				return exitcode.Errorf(exitcode.Usage, "%s is not a directory", args[1])
			}
			b, done, err := a.open()
			if err != nil {
				return err
			}
			defer done()
			info, err := b.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.transfer(cmd.Context(), s, func(ctx context.Context, o transfer.Options) (transfer.Result, error) {
				return transfer.Export(ctx, b.Reader(info.ID), args[1], o)
			})
		},
	}
	s.define(cmd, "files")
	return cmd
}

func (a *app) storeImportCommand() *cobra.Command {
	var s transferSettings
	cmd := &cobra.Command{
		Use:   "import DIRECTORY STORE",
		Short: "Copy a directory into a store",
		Long: `Copy the files of a directory into a store, byte for byte. Memories that are
there already with the same text are left alone, so that an import which was cut
off can be run again; memories with another text stay too, and are named, unless
--overwrite is given. Nothing is deleted. Files that memfs never sends, such as
.git/ and *~, are left out.`,
		Example:           "  memfs store import ./notes notes --create\n  memfs store import ./notes notes --dry-run",
		Args:              cobra.MatchAll(words(2, "name the directory and the store"), cobra.ExactArgs(2)),
		ValidArgsFunction: a.completeStore(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return exitcode.Errorf(exitcode.Usage, "%s is not a directory", args[0])
			}
			open := a.open
			if s.create && !s.dryRun {
				open = a.create
			}
			b, done, err := open()
			if err != nil {
				return err
			}
			defer done()
			to, err := destination(cmd.Context(), b, args[1], s)
			if err != nil {
				return err
			}
			return a.transfer(cmd.Context(), s, func(ctx context.Context, o transfer.Options) (transfer.Result, error) {
				return transfer.Import(ctx, to, args[0], o)
			})
		},
	}
	s.define(cmd, "memories")
	cmd.Flags().BoolVar(&s.create, "create", false, "make the store if there is none of that name")
	return cmd
}

// destination is the store that an import goes to. One that is to be made is
// empty as long as nothing is done.
func destination(ctx context.Context, b *backend.Backend, name string, s transferSettings) (store.Client, error) {
	info, err := b.Find(ctx, name)
	var unknown *claude.UnknownStoreError
	if s.create && errors.As(err, &unknown) {
		if s.dryRun {
			return nothing{}, nil
		}
		info, err = b.CreateStore(ctx, name, "")
	}
	if err != nil {
		return nil, err
	}
	return b.Store(info.ID), nil
}

// nothing is a store without memories, which is not written to.
type nothing struct{ store.Client }

// List implements store.Reader.
func (nothing) List(context.Context, store.ListQuery) (store.ListPage, error) {
	return store.ListPage{}, nil
}

// transfer copies, shows how far it is, and says what became of it.
func (a *app) transfer(ctx context.Context, s transferSettings, copying func(context.Context, transfer.Options) (transfer.Result, error)) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o := transfer.Options{DryRun: s.dryRun, Overwrite: s.overwrite}
	finish := a.progress(&o)
	result, err := copying(ctx, o)
	finish()
	if printErr := a.printTransfer(s, result); printErr != nil {
		return printErr
	}
	if err != nil {
		return fmt.Errorf("%w; run the same again to go on", err)
	}
	if n := len(result.Problems()); n > 0 {
		return exitcode.Errorf(exitcode.Failed, "%s not copied: see above", count(n, "file was", "files were"))
	}
	return nil
}

func (a *app) printTransfer(s transferSettings, r transfer.Result) error {
	if s.json {
		items := r.Items
		if items == nil {
			items = []transfer.Item{}
		}
		return a.printJSON(items)
	}
	for _, i := range r.Items {
		changes := i.Outcome == transfer.Created || i.Outcome == transfer.Updated
		switch {
		case i.Reason != "":
			_, _ = fmt.Fprintf(a.stderr, "%s: %s: %s\n", visible.Line(i.Path), i.Outcome, oneLine(i.Reason))
		case s.dryRun && changes:
			_, _ = fmt.Fprintf(a.stdout, "%s: would be %s\n", visible.Line(i.Path), i.Outcome)
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%d created, %d updated, %d the same, %d local only, %d differ, %d failed\n", r.Count(transfer.Created),
		r.Count(transfer.Updated), r.Count(transfer.Same), r.Count(transfer.LocalOnly), r.Count(transfer.Differs), r.Count(transfer.Failed))
	return err
}

// progress shows a bar where a person looks at it; finish takes it away.
func (a *app) progress(o *transfer.Options) (finish func()) {
	f, ok := a.stderr.(*os.File)
	if !ok || o.DryRun || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	var bar *progressbar.ProgressBar
	o.Total = func(n int) {
		bar = progressbar.NewOptions(n, progressbar.OptionSetWriter(f), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(30), progressbar.OptionUseANSICodes(true))
	}
	o.Done = func(transfer.Item) { _ = bar.Add(1) } // a bar that cannot be shown is no loss
	return func() {
		if bar != nil {
			_ = bar.Clear()
		}
	}
}

// completeStore offers the names of stores for one of the arguments, and files
// for the others.
func (a *app) completeStore(position int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) != position {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.completeStores(cmd, args, toComplete)
	}
}
