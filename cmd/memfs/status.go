package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs"
	"memfs/cmd/memfs/internal/control"
	"memfs/store"
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
	var notes []string
	_, _ = fmt.Fprintln(w, "PATH\tSTORE\tACCESS\tCLEAN\tUNFETCHED\tDIRTY\tDELETED\tHELD\tREFUSED\tSCRATCH\tCONFLICTS\tLAST PASS")
	for _, m := range mounts {
		var s memfs.Status
		if err := json.Unmarshal(m.Status, &s); err != nil {
			return fmt.Errorf("status of %s: %w", m.Mount, err)
		}
		access := "write"
		if s.ReadOnly {
			access = "read"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", m.Mount, cmp.Or(s.StoreName, s.StoreID), access,
			s.Clean, s.Remote, s.Dirty, s.Deleted, s.Held, s.Refused, s.Scratch, s.Conflicts, age(s.Sync.Last.Ended))
		for _, note := range notesOf(s) {
			notes = append(notes, m.Mount+": "+note)
		}
	}
	for _, note := range notes {
		_, _ = fmt.Fprintln(w, note)
	}
	return w.Flush()
}

func age(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return time.Since(t).Round(time.Second).String() + " ago"
}

// notesOf says what keeps a mount from being in step with its store, and what
// to do about it.
func notesOf(s memfs.Status) []string {
	var notes []string
	note := func(applies bool, format string, args ...any) {
		if applies {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	note(s.Sync.Error != "", "the last pass failed: %s", oneLine(s.Sync.Error))
	note(!s.MarkerOK, "%s is missing or altered, nothing is synced: put it back, one line \"version 1\" and then %s without a newline",
		store.MarkerName, s.StoreID)
	note(s.Sync.Frozen, "the store refused the credential for a write, edits wait: check the key")
	note(s.Sync.Archived, "the store is archived, edits wait")
	note(s.Sync.Full, "the store is full, new memories wait")
	note(s.Sync.Last.HeldDeletes > 0, "%d deletes are held because they concern most of the store: memfs sync %s --allow-deletes sends them",
		s.Sync.Last.HeldDeletes, s.MountPath)
	note(s.Sync.Hidden > 0, "%d memories have paths that no file can have, and are not shown", s.Sync.Hidden)
	note(s.Panics > 0, "memfs failed %d times in file operations; the log has the details", s.Panics)
	return notes
}
