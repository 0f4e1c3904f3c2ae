package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of memfs",
		Args:  none,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "memfs %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}
