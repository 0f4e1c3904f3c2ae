package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store"
)

func (a *app) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Make, list and copy stores",
		Args:  group,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.storeCreateCommand(), a.storeListCommand(), a.storeImportCommand(), a.storeExportCommand())
	return cmd
}

func (a *app) storeCreateCommand() *cobra.Command {
	var description string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make an empty store and print its id",
		Example: "  memfs store create \"User Preferences\" --description \"what the user likes\"",
		Args:    cobra.MatchAll(words(1, "name the store"), cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return exitcode.Errorf(exitcode.Usage, "name the store: a name is what people and agents know it by")
			}
			b, done, err := a.create()
			if err != nil {
				return err
			}
			defer done()
			known, err := b.Stores(cmd.Context())
			if err != nil {
				return err
			}
			info, err := b.CreateStore(cmd.Context(), args[0], description)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(known, func(other store.Info) bool { return other.Name == info.Name }); i >= 0 {
				_, _ = fmt.Fprintf(a.stderr, "memfs: warning: %s is called %q too: use the ids to tell them apart\n", known[i].ID, info.Name)
			}
			if asJSON {
				return a.printJSON(viewOf(info))
			}
			_, err = fmt.Fprintln(a.stdout, info.ID)
			return err
		},
	}
	cmd.Flags().StringVar(&description, "description", "", "what the store is for: agents read it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the store as JSON")
	return cmd
}

func (a *app) storeListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the stores that are not archived",
		Example: "  memfs store list --json",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, done, err := a.open()
			if err != nil {
				return err
			}
			defer done()
			infos, err := b.Stores(cmd.Context())
			if err != nil {
				return err
			}
			views := make([]storeView, 0, len(infos))
			for _, info := range infos {
				views = append(views, viewOf(info))
			}
			if asJSON {
				return a.printJSON(views)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "ID\tNAME\tCREATED")
			for _, v := range views {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", v.ID, visible.Line(v.Name), v.CreatedAt.Format(time.DateOnly))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the stores as JSON")
	return cmd
}

// storeView is a store as commands show it.
type storeView struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	ArchivedAt  *time.Time `json:"archived_at,omitempty"`
}

func viewOf(i store.Info) storeView {
	v := storeView{ID: i.ID, Name: i.Name, Description: i.Description, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}
	if i.Archived() {
		v.ArchivedAt = &i.ArchivedAt
	}
	return v
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
