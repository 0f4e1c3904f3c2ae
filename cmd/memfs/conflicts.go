package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/visible"
	"memfs/store"
	"memfs/store/replica"
	"memfs/store/replica/conflicts"
)

// losers is one run of memfs conflicts.
type losers struct {
	*app
	settings settings
}

func (a *app) conflictsCommand() *cobra.Command {
	l := &losers{app: a}
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "See, take back or drop the texts that lost against the store",
		Long: `See, take back or drop the texts that lost. Where a memory changed here and in the
store, the store's version wins, and the local text is kept aside in the state
directory, for 30 days and up to 64 MiB. No mount is needed.

ID may be cut short, to four characters or more that name one text: the beginning
of the id, or of the letters at its end.`,
		Example: `  memfs conflicts
  memfs conflicts show K3QF --diff
  memfs conflicts restore K3QF
  memfs conflicts drop --all --yes`,
		Args: group,
		RunE: func(*cobra.Command, []string) error { return l.list(false) },
	}
	l.settings.defineState(cmd.PersistentFlags())
	cmd.AddCommand(l.listCommand(), l.showCommand(), l.restoreCommand(), l.dropCommand())
	return cmd
}

func (l *losers) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the texts that lost",
		Example: "  memfs conflicts list\n  memfs conflicts list --json",
		Args:    none,
		RunE:    func(*cobra.Command, []string) error { return l.list(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	return cmd
}

// loser is a text that lost, and the area that keeps it.
type loser struct {
	conflicts.Entry
	area replica.ConflictArea
}

// open finds all texts, the oldest first; done ends their use.
func (l *losers) open() (all []loser, done func(), err error) {
	dir, err := l.settings.stateDirectory()
	if err != nil {
		return nil, nil, err
	}
	areas, done, err := replica.ConflictAreas(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, area := range areas {
		entries, err := area.List()
		var damaged *conflicts.DamagedError
		if errors.As(err, &damaged) {
			for _, id := range damaged.IDs { // the texts can be shown and dropped
				entries = append(entries, conflicts.Entry{ID: id, Reason: "damaged"})
			}
		} else if err != nil {
			done()
			return nil, nil, err
		}
		for _, e := range entries {
			all = append(all, loser{e, area})
		}
	}
	slices.SortFunc(all, func(a, b loser) int { return cmp.Compare(a.ID, b.ID) })
	return all, done, nil
}

// leastOfID is how much of an id names a text, so that a slip does not.
const leastOfID = 4

// loserOf is the text that a word names.
func loserOf(all []loser, word string) (loser, error) {
	if len(word) < leastOfID {
		return loser{}, exitcode.Errorf(exitcode.Usage, "%q is too little of an id: write %d characters or more", word, leastOfID)
	}
	var meant []loser
	for _, l := range all {
		_, letters, _ := strings.Cut(l.ID, "-")
		if strings.HasPrefix(l.ID, word) || strings.HasPrefix(letters, strings.ToUpper(word)) {
			meant = append(meant, l)
		}
	}
	switch len(meant) {
	case 0:
		return loser{}, exitcode.Errorf(exitcode.Usage, "no losing text has the id %s: memfs conflicts lists them", word)
	case 1:
		return meant[0], nil
	default:
		return loser{}, exitcode.Errorf(exitcode.Usage, "%d losing texts have an id with %s: write more of it", len(meant), word)
	}
}

// loserView is a text that lost as it is shown.
type loserView struct {
	ID       string    `json:"id"`
	StoreID  string    `json:"store_id"`
	Path     string    `json:"path"`
	Reason   string    `json:"reason"`
	Size     int64     `json:"size"`
	Time     time.Time `json:"time,omitzero"`
	Session  string    `json:"session,omitempty"`
	SHA      string    `json:"sha256,omitempty"`
	Base     string    `json:"base_sha256,omitempty"`
	Remote   string    `json:"remote_sha256,omitempty"`
	MemoryID string    `json:"memory_id,omitempty"`
	ReadOnly bool      `json:"read_only,omitempty"`
}

func (l *losers) list(asJSON bool) error {
	all, done, err := l.open()
	if err != nil {
		return err
	}
	defer done()
	if asJSON {
		views := make([]loserView, len(all))
		for i, e := range all {
			views[i] = loserView{ID: e.ID, StoreID: e.StoreID, Path: e.Path, Reason: e.Reason, Size: e.Size, Time: e.Time.UTC(),
				Session: e.Session, SHA: hashOrNone(e.Local), Base: hashOrNone(e.Base), Remote: hashOrNone(e.Remote),
				MemoryID: e.MemoryID, ReadOnly: e.ReadOnly}
		}
		return l.printJSON(views)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(l.stdout, "no text lost")
		return err
	}
	w := tabwriter.NewWriter(l.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tLOST\tSTORE\tREASON\tSIZE\tPATH")
	for _, e := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", e.ID, moment(e.Time), visible.Line(e.StoreID), visible.Line(e.Reason), e.Size, visible.Line(e.Path))
	}
	return w.Flush()
}

func hashOrNone(sha store.SHA) string {
	if sha.IsZero() {
		return ""
	}
	return sha.String()
}
