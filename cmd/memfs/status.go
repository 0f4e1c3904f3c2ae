package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/flags"
)

// checks are the words of --check.
const (
	checkLive   = "live"
	checkSynced = "synced"
)

func (a *app) statusCommand() *cobra.Command {
	var s statusSettings
	cmd := &cobra.Command{
		Use:   "status [PATH...]",
		Short: "Show what is mounted and what is still to be sent",
		Long: `Show the mounts of this host that this user can look into, and what is still to
be sent: one line for each, or with PATHs all that is known of the mounts these
lie in. Below it stands what keeps a mount from being in step with its store, and
what to do about it.

Every file is counted once: clean (the store has it), unfetched (the store has
it, and its content was not needed here yet), dirty (to be sent), held (not sent
for now), refused (the store can never take it), scratch (local only). Memories
are all of these but scratch. Deleted are memories removed here that the store
still has; conflicts are texts that lost and are kept. Slow are the slowest file
operations of the last one to two hours, if any took a millisecond.

It works too where nothing of memfs can be seen but a mount, as in a sandbox.

--check is for probes. live: exit code 1 unless each mount is served. synced:
also 5 where the store is out of reach or refused the credential, and 6 where
edits wait until somebody does something about it: refused and held files too.`,
		Example: `  memfs status
  memfs status /mnt/memory/notes --json
  memfs status --watch
  memfs status --check /mnt/memory/notes       # a container's liveness
  memfs status --check=synced                  # an alert`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.status(cmd.Context(), s, args)
		},
		ValidArgsFunction: completeMounts,
	}
	s.define(cmd)
	return cmd
}

// statusSettings are the flags of status.
type statusSettings struct {
	json  bool
	watch time.Duration
	check string
}

func (s *statusSettings) define(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&s.json, "json", false, "print everything as JSON; with --watch, one line each time")
	flags.DurationVar(set, &s.watch, "watch", 0, 0, "go on showing it, every second unless `interval` says otherwise")
	set.Lookup("watch").NoOptDefVal = "1s"
	set.Lookup("watch").DefValue = ""
	flags.ChoiceVar(set, &s.check, "check", "", []string{checkLive, checkSynced}, "print nothing but what is wrong, and have the exit code tell")
	set.Lookup("check").NoOptDefVal = checkLive
}

func (a *app) status(ctx context.Context, s statusSettings, paths []string) error {
	switch {
	case s.check != "":
		mounts, err := a.survey(ctx, paths)
		if err != nil {
			return err
		}
		return check(mounts, s.check)
	case s.watch > 0:
		return a.watch(ctx, s, paths)
	}
	return a.show(ctx, s, paths, a.stdout)
}

// show prints the present state once.
func (a *app) show(ctx context.Context, s statusSettings, paths []string, out io.Writer) error {
	mounts, err := a.survey(ctx, paths)
	if err != nil {
		return err
	}
	if s.json {
		e := json.NewEncoder(out)
		if s.watch == 0 {
			e.SetIndent("", "  ")
		}
		return e.Encode(mounts)
	}
	return printStatus(out, mounts, len(paths) > 0, a.width(), time.Now())
}
