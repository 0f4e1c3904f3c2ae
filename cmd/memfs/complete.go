package main

import (
	"github.com/spf13/cobra"

	"memfs/fs"
)

// completeMounts offers the mounted paths.
func completeMounts(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
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
