package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/reconcile"
)

func (a *app) syncCommand() *cobra.Command {
	var allowDeletes bool
	cmd := &cobra.Command{
		Use:   "sync [PATH...]",
		Short: "Run a pass now and wait for it",
		Long: `Run a pass now and wait for it: everything changed so far is sent, and what
changed in the stores arrives. Without a PATH it is for every mount of this user.

The exit code is 0 where everything was sent. Otherwise it is 6, or 5 where a
store is out of reach, and one line for each mount says what was not sent, and
what to do about it.`,
		Example:           "  memfs sync\n  memfs sync /mnt/memory/notes --allow-deletes",
		ValidArgsFunction: completeMounts,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sync(cmd.Context(), args, allowDeletes)
		},
	}
	cmd.Flags().BoolVar(&allowDeletes, "allow-deletes", false, "send the deletes that the mass-delete guard holds")
	return cmd
}

func (a *app) sync(ctx context.Context, paths []string, allowDeletes bool) error {
	live, err := a.processes(ctx)
	if err != nil {
		return err
	}
	if len(live) == 0 && len(paths) == 0 {
		return errors.New("nothing is mounted by memfs")
	}
	requests := map[*control.Process]*control.SyncRequest{}
	for _, path := range paths {
		path, err := absolute(path)
		if err != nil {
			return err
		}
		p := serving(live, path)
		if p == nil {
			return unserved(path)
		}
		if requests[p] == nil {
			requests[p] = &control.SyncRequest{AllowDeletes: allowDeletes}
		}
		if mount, _ := p.Serves(path); !slices.Contains(requests[p].Paths, mount) {
			requests[p].Paths = append(requests[p].Paths, mount)
		}
	}
	code := exitcode.OK
	var errs []error
	for _, p := range live {
		request := requests[p]
		switch {
		case request != nil:
		case len(paths) == 0:
			request = &control.SyncRequest{AllowDeletes: allowDeletes}
		default:
			continue
		}
		synced, err := p.Sync(ctx, *request)
		errs = append(errs, err)
		left, err := a.tellLeft(p.Report, synced)
		errs, code = append(errs, err), cmp.Or(code, left)
	}
	if err := errors.Join(errs...); err != nil || code == exitcode.OK {
		return err
	}
	return exitcode.With(code, errors.New("")) // it is said
}

// tellLeft says in one line for each mount what a pass did not send. The exit
// code is that of the first.
func (a *app) tellLeft(process control.Report, synced []control.Synced) (code int, err error) {
	for _, m := range synced {
		view, err := viewOfMount(process, m.Mount)
		if err != nil {
			return code, err
		}
		notes := notesLeft(view, m.Report)
		if len(notes) == 0 {
			continue
		}
		code = cmp.Or(code, notes[0].exit)
		texts := make([]string, len(notes))
		for i, n := range notes {
			texts[i] = n.String()
		}
		text := strings.Join(texts, "; ")
		if len(m.Report.Unsent) > 0 {
			text += " (" + some(m.Report.Unsent) + ")"
		}
		_, _ = fmt.Fprintf(a.stderr, "memfs: %s: %s\n", m.Path, text)
	}
	return code, nil
}

// notesLeft are the notes of a mount that say why not everything was sent in
// the pass of the report. Why a pass failed is said by its own error.
func notesLeft(m mountView, report reconcile.Report) []note {
	m.Status.Sync.Last, m.Status.Sync.Error = report, ""
	notes := slices.DeleteFunc(notesOf(m), func(n note) bool { return n.exit != exitcode.EditsKept && n.exit != exitcode.Unreachable })
	if n := len(report.Unsent) - m.Status.Refused - m.Status.Held; n > 0 {
		notes = append(notes, note{"unsent", count(n, "edit was", "edits were") + " not sent",
			"the journal keeps them and the next passes try again; the log says why", exitcode.EditsKept})
	}
	return notes
}

// some are the first of paths, and how many more there are.
func some(paths []string) string {
	const most = 5
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}
