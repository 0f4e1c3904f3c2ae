package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/mounted"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store/replica"
)

func (a *app) inspectCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show what a file is to its store: memory, version, state",
		Long: `Show what a file in a mount is to its store. It asks the mount alone, so it works
in a sandbox that sees nothing but that.

States: clean (the store has it), remote (the store has it, and its content was
not needed here yet), dirty (to be sent), held (not sent for now), refused (the
store can never take it), scratch (local only). The reason says why.`,
		Example: "  memfs inspect /mnt/memory/notes/plan.md",
		Args:    one("name one file in a mount"),
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := inspect(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(v)
			}
			return a.printInspection(v)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	return cmd
}

// inspection is one file as it is shown.
type inspection struct {
	File    string `json:"file"`
	Mount   string `json:"mount"`
	StoreID string `json:"store_id"`
	// Path is the file's place in the store.
	Path      string    `json:"path"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	ID        string    `json:"id,omitempty"`
	VersionID string    `json:"version_id,omitempty"`
	SHA       string    `json:"sha256,omitempty"`
	BaseSHA   string    `json:"base_sha256,omitempty"`
	SyncedAt  time.Time `json:"synced_at,omitzero"`
	LastPass  time.Time `json:"last_pass,omitzero"`
}

func inspect(file string) (inspection, error) {
	file, err := absolute(file)
	if err != nil {
		return inspection{}, err
	}
	m, err := mounted.At(file)
	if err != nil {
		return inspection{}, err
	}
	f, err := mounted.Inspect(file)
	if err != nil {
		return inspection{}, err
	}
	return inspection{File: file, Mount: m.Root, StoreID: m.StoreID, Path: m.Memory(file), State: f.State, Reason: f.Reason,
		ID: f.Memory, VersionID: f.Version, SHA: f.SHA, BaseSHA: f.BaseSHA, SyncedAt: f.SyncedAt, LastPass: m.Status.Sync.Last.Ended}, nil
}

func (a *app) printInspection(v inspection) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, visible.Line(value))
		}
	}
	line("path", v.Path)
	line("store", v.StoreID)
	line("state", v.State)
	line("reason", v.Reason)
	line("memory", v.ID)
	line("version", v.VersionID)
	line("sha256", v.SHA)
	if v.State != string(replica.Clean) && v.State != string(replica.Remote) {
		line("agreed sha256", v.BaseSHA)
	}
	line("agreed at", moment(v.SyncedAt))
	line("last pass", moment(v.LastPass))
	return w.Flush()
}

// moment is a time for people; "" where there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// one is a usage error that names what is missing, or that there is too much.
func one(what string) cobra.PositionalArgs {
	return cobra.MatchAll(words(1, what), cobra.MaximumNArgs(1))
}
