package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/visible"
	"memfs/fs"
	"memfs/store/replica"
)

// recovery is one run of memfs recover.
type recovery struct {
	*app
	settings settings
}

func (a *app) recoverCommand() *cobra.Command {
	r := &recovery{app: a}
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "See, send, save or discard what crashes and cut-off ends left on this host",
		Long: `See, send, save as plain files or discard the journals that are left on this
host: of memfs processes that were killed, or that could not send everything
before they ended. No mount is needed.

An attach of the same store sends them by itself, but not where the marker file
is missing or altered, nor what was changed under read-only access.

WHAT chooses: an id that memfs recover list shows, a mount path, a store's id or
a session's. Without WHAT all are meant.`,
		Example: `  memfs recover
  memfs recover push
  memfs recover export ./saved /mnt/memory/notes
  memfs recover drop 4f2a91c3 --yes`,
		Args: group,
		RunE: func(*cobra.Command, []string) error { return r.list(nil, false) },
	}
	r.settings.defineState(cmd.PersistentFlags())
	cmd.AddCommand(r.listCommand(), r.pushCommand(), r.exportCommand(), r.dropCommand())
	return cmd
}

func (r *recovery) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [WHAT...]",
		Short: "List what is left on this host",
		Long: `List the journals on this host with what they have not sent. STATE is live (a
process has it open), unsent (recover push sends it), marker (the marker file is
wrong: recover push puts it right), read-only (never sent), sent, cache (kept by
--keep-cache), hung (memfs unmount PATH frees it) or unreadable (a damaged
journal that was set aside).`,
		Example: "  memfs recover list\n  memfs recover list /mnt/memory/notes --json",
		RunE:    func(_ *cobra.Command, args []string) error { return r.list(args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON, with the paths")
	return cmd
}

// leftover is one leftover as it is shown.
type leftover struct {
	ID       string `json:"id"`
	Store    string `json:"store"`
	Endpoint string `json:"endpoint"`
	Path     string `json:"path"`
	Session  string `json:"session,omitempty"`
	// State is one of live, unsent, read-only, marker, sent, cache and
	// unreadable.
	State   string    `json:"state"`
	PID     int       `json:"pid,omitempty"`
	Edits   []string  `json:"edits"`
	Deletes []string  `json:"deletes"`
	Changed time.Time `json:"changed,omitzero"`
	Error   string    `json:"error,omitempty"`

	found replica.Leftover
}

// States of leftovers.
const (
	stateLive       = "live"       // a process has it open
	stateHung       = "hung"       // a killed process has it open and cannot end
	stateUnsent     = "unsent"     // recover push sends it
	stateReadOnly   = "read-only"  // never sent
	stateMarker     = "marker"     // the marker is wrong: only recover push sends it
	stateSent       = "sent"       // nothing is left to send
	stateCache      = "cache"      // kept by --keep-cache
	stateUnreadable = "unreadable" // the journal cannot be read
)

// leftovers are those that words choose, in a fixed order; none are all.
func (r *recovery) leftovers(words []string) ([]leftover, error) {
	dir, err := r.settings.stateDirectory()
	if err != nil {
		return nil, err
	}
	all, err := replica.Leftovers(dir)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		if !slices.ContainsFunc(all, func(l replica.Leftover) bool { return meant(l, word) }) {
			return nil, exitcode.Errorf(exitcode.Usage, "nothing of %q is left on this host: memfs recover list shows what is", word)
		}
	}
	chosen := make([]leftover, 0, len(all))
	for _, l := range all {
		if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return meant(l, word) }) {
			chosen = append(chosen, describe(l))
		}
	}
	slices.SortFunc(chosen, func(a, b leftover) int {
		return cmp.Or(strings.Compare(a.Store, b.Store), strings.Compare(a.Path, b.Path), strings.Compare(a.ID, b.ID))
	})
	return chosen, nil
}

func meant(l replica.Leftover, word string) bool {
	return word == l.ID || word != "" && (word == l.MountPath || word == l.Store || word == l.Session)
}

// describe looks into a leftover; nothing of it changes.
func describe(l replica.Leftover) leftover {
	v := leftover{ID: l.ID, Store: l.Store, Endpoint: l.Endpoint, Path: l.MountPath, Session: l.Session, PID: l.PID,
		Edits: []string{}, Deletes: []string{}, Changed: l.Created, found: l}
	if l.Live {
		v.State = stateLive
		if fs.Hung(l.PID) {
			v.State = stateHung
		}
		return v
	}
	markerOK := true
	err := l.Fault
	if err == nil {
		err = replica.Look(l.Options(), func(opened *replica.Replica) error {
			unsent := opened.Unsent()
			markerOK = opened.Snapshot(nil, nil).MarkerOK
			v.Edits, v.Deletes = append(v.Edits, unsent.Edits...), append(v.Deletes, unsent.Deletes...)
			if unsent.Any() {
				v.Changed = unsent.Newest
			}
			return nil
		})
	}
	switch {
	case err != nil:
		v.State, v.Error = stateUnreadable, err.Error()
	case l.Kept:
		v.State = stateCache
	case len(v.Edits)+len(v.Deletes) == 0:
		v.State = stateSent
	case l.ReadOnly:
		v.State = stateReadOnly
	case !markerOK:
		v.State = stateMarker
	default:
		v.State = stateUnsent
	}
	return v
}

func (r *recovery) list(words []string, asJSON bool) error {
	found, err := r.leftovers(words)
	switch {
	case err != nil:
		return err
	case asJSON:
		return r.printJSON(found)
	case len(found) == 0:
		_, err := fmt.Fprintln(r.stdout, "nothing is left on this host")
		return err
	}
	w := tabwriter.NewWriter(r.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tSTATE\tSTORE\tPATH\tEDITS\tDELETES\tCHANGED\tENDPOINT")
	for _, l := range found {
		state := l.State
		if l.PID != 0 {
			state += fmt.Sprintf(" (pid %d)", l.PID)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", l.ID, state, visible.Line(l.Store), visible.Line(l.Path), len(l.Edits), len(l.Deletes),
			l.Changed.UTC().Format(time.DateTime), visible.Line(l.Endpoint))
	}
	return w.Flush()
}
