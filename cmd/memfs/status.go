package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs"
	"memfs/cmd/memfs/internal/control"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [PATH...]",
		Short: "Show what is mounted and what is still to be sent",
		Long: `Show the mounts of this user's memfs processes and what is still to be sent.

Every file is counted once: clean (the store has it), unfetched (the store has
it, and its content was not needed here yet), dirty (to be sent), held (not sent
for now), refused (the store can never take it), scratch (local only).`,
		Example: "  memfs status\n  memfs status /mnt/memory/notes --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			live, err := a.processes(cmd.Context())
			if err != nil {
				return err
			}
			mounts, err := chosen(live, args)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(mounts)
			}
			return printStatus(a.stdout, mounts)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	return cmd
}

// mountView is one mount in the output of status.
type mountView struct {
	PID     int             `json:"pid"`
	Version string          `json:"version"`
	Started time.Time       `json:"started"`
	Mount   string          `json:"mount"`
	Status  json.RawMessage `json:"status"`
}

// chosen are the mounts that paths are in; no paths, all mounts.
func chosen(live []*control.Process, paths []string) ([]mountView, error) {
	wanted := map[string]bool{}
	for _, path := range paths {
		path, err := absolute(path)
		if err != nil {
			return nil, err
		}
		p := serving(live, path)
		if p == nil {
			return nil, fmt.Errorf("%s is not mounted by memfs, or not by this user", path)
		}
		mount, _ := p.Serves(path)
		wanted[mount] = true
	}
	views := []mountView{}
	for _, p := range live {
		for _, m := range p.Mounts {
			if len(paths) == 0 || wanted[m.Path] {
				views = append(views, mountView{p.PID, p.Version, p.Started, m.Path, m.Status})
			}
		}
	}
	return views, nil
}

func printStatus(out io.Writer, mounts []mountView) error {
	if len(mounts) == 0 {
		_, err := fmt.Fprintln(out, "nothing is mounted")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "PATH\tSTORE\tACCESS\tCLEAN\tUNFETCHED\tDIRTY\tDELETED\tHELD\tREFUSED\tSCRATCH\tCONFLICTS")
	for _, m := range mounts {
		var s memfs.Status
		if err := json.Unmarshal(m.Status, &s); err != nil {
			return fmt.Errorf("status of %s: %w", m.Mount, err)
		}
		access := "write"
		if s.ReadOnly {
			access = "read"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", m.Mount, s.StoreName, access,
			s.Clean, s.Remote, s.Dirty, s.Deleted, s.Held, s.Refused, s.Scratch, s.Conflicts)
	}
	return w.Flush()
}
