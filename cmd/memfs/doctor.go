package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/guard"
)

func (a *app) doctorCommand() *cobra.Command {
	var s settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether this host can mount, and what to do where it cannot",
		Long: `Look at this host and say whether stores can be mounted here: the verdict is
"fuse", "directory sync" (a worker could copy stores into plain directories, but
memfs cannot mount) or "cannot run". What blocks is named, with the remedy.

As root it makes one mount on a temporary directory and takes it back. The exit
code is 3 unless the verdict is fuse.`,
		Example: "  memfs doctor\n  memfs doctor --json --state-dir /var/lib/memfs",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := s.stateDirectory()
			if err != nil {
				return err
			}
			report := guard.Doctor(cmd.Context(), guard.Options{Root: s.root, StateDir: state, AllowOther: s.allowOther})
			if asJSON {
				err = a.printJSON(report)
			} else {
				_, err = fmt.Fprint(a.stdout, report)
			}
			if err == nil && report.Verdict != guard.VerdictFUSE {
				err = exitcode.Errorf(exitcode.HostNotReady, "this host is not ready to mount: see %s above", strings.Join(report.Blockers, ", "))
			}
			return err
		},
	}
	s.defineHost(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}
