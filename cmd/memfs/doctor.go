package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/guard"
)

func (a *app) doctorCommand() *cobra.Command {
	var s settings
	var asJSON, fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether this host can mount, and what to do where it cannot",
		Long: `Look at this host and say whether stores can be mounted here: the verdict is
"fuse", "directory sync" (a worker could copy stores into plain directories, but
memfs cannot mount) or "cannot run". What blocks is named, with the remedy. The
API, the credential and this host's clock are looked at too, and what earlier
sessions left.

As root it makes one mount on a temporary directory and takes it back. The exit
code is 3 unless the verdict is fuse.

--fix does what is safe: it takes dead mounts away that stand below --root, and
closes a state directory of this user to others.`,
		Example: "  memfs doctor\n  memfs doctor --json --state-dir /var/lib/memfs\n  memfs doctor --fix",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := s.stateDirectory()
			if err != nil {
				return err
			}
			if fix {
				if err := a.fix(s.root, state); err != nil {
					return err
				}
			}
			report := a.examine(cmd.Context(), guard.Options{Root: s.root, StateDir: state, AllowOther: s.allowOther})
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
	cmd.Flags().BoolVar(&fix, "fix", false, "do first what is safe to do")
	return cmd
}

// examine is what guard finds, and what only a command can look at. The
// verdict is guard's.
func (a *app) examine(ctx context.Context, o guard.Options) guard.Report {
	report := guard.Doctor(ctx, o)
	answer := a.reach(ctx)
	report.Checks = append(report.Checks, a.checkAPI(ctx, answer), answer.checkClock(), checkLeftovers(o.StateDir), checkRoot(o.Root))
	return report
}
