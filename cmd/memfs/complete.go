package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/flags"
	"memfs/fs"
)

// completeExec offers stores, and behind -- what the shell has.
func (a *app) completeExec(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if slices.Contains(a.args[:len(a.args)-1], "--") { // cobra adds one of its own to what it parses
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.completeStores(cmd, args, toComplete)
}

// completeMounts offers the mounted paths.
func completeMounts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	mounts, err := fs.Mounts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var paths []cobra.Completion
	for _, m := range mounts {
		paths = append(paths, cobra.CompletionWithDesc(m.Path, m.StoreID))
	}
	return paths, cobra.ShellCompDirectiveNoFileComp
}

// completionTime bounds how long a person waits for the names of stores.
const completionTime = 3 * time.Second

// completeStores offers the names of stores. It is asked outside of a run, so
// it does for itself what comes before every command.
func (a *app) completeStores(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	a.log = zap.NewNop()
	if flags.FromEnvironment(cmd.Flags(), os.LookupEnv) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	b, done, err := a.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	infos, err := b.Stores(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, info := range infos {
		if info.Name == "" {
			names = append(names, info.ID)
		} else {
			names = append(names, cobra.CompletionWithDesc(info.Name, info.ID))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
