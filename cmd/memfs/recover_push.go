package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"memfs"
	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/reconcile"
)

func (r *recovery) pushCommand() *cobra.Command {
	var allowDeletes bool
	cmd := &cobra.Command{
		Use:   "push [WHAT...]",
		Short: "Send what is left to its store, and remove what has arrived",
		Long: `Send what is left to its store: one ordinary pass, in which the store wins where
both sides changed. What has arrived is removed from this host. A marker file that
is missing or altered is put right first. Deletes that the mass-delete guard holds
are not sent but with --allow-deletes; they are named and discarded.

It is sent to the API that ANTHROPIC_BASE_URL names, or with --local to the
embedded store; what belongs to another one is passed over.`,
		Example: "  memfs recover push\n  memfs recover push /mnt/memory/notes",
		RunE:    func(cmd *cobra.Command, args []string) error { return r.push(cmd.Context(), args, allowDeletes) },
	}
	cmd.Flags().BoolVar(&allowDeletes, "allow-deletes", false, "send the deletes that the mass-delete guard holds")
	return cmd
}

func (r *recovery) push(ctx context.Context, words []string, allowDeletes bool) error {
	found, err := r.leftovers(words)
	if err != nil {
		return err
	}
	var todo []leftover
	var errs []error
	for _, l := range found {
		switch {
		case l.State == stateUnsent || l.State == stateMarker:
			todo = append(todo, l)
		case len(words) > 0:
			errs = append(errs, l.unsendable())
		}
	}
	if len(todo) == 0 {
		if err := errors.Join(errs...); err != nil {
			return err
		}
		_, err := fmt.Fprintln(r.stdout, "nothing is left to send")
		return err
	}
	with := credentials(r.local)
	b, done, err := r.open()
	if err != nil {
		return err
	}
	defer done()
	_, _ = fmt.Fprintf(r.stderr, "sending to %s with %s\n", b.Endpoint, with)
	for _, l := range todo {
		errs = append(errs, r.pushOne(ctx, b, l, allowDeletes))
	}
	return errors.Join(errs...)
}

// unsendable says why a leftover that was asked for is not sent.
func (l *leftover) unsendable() error {
	switch l.State {
	case stateLive:
		return exitcode.Errorf(exitcode.Busy, "%s is in use by process %d, which sends it: memfs sync %s", l.ID, l.PID, l.Path)
	case stateHung:
		return l.hung()
	case stateReadOnly:
		return fmt.Errorf("%s was changed under read-only access and is never sent: memfs recover export saves it", l.ID)
	case stateUnreadable:
		return fmt.Errorf("%s: %s", l.ID, l.Error)
	}
	return nil
}

// hung says what frees a leftover of a killed process that cannot end.
func (l *leftover) hung() error {
	return exitcode.Errorf(exitcode.Busy, "%s: process %d was killed and hangs: memfs unmount %s first", l.ID, l.PID, l.Path)
}

func (r *recovery) pushOne(ctx context.Context, b *backend.Backend, l leftover, allowDeletes bool) error {
	if l.Endpoint != b.Endpoint {
		return exitcode.Errorf(exitcode.EditsKept, "%s belongs to %s: %s", l.ID, l.Endpoint, reach(l.Endpoint))
	}
	got, err := memfs.Recover(ctx, l.found, b.Store(l.Store), memfs.RecoverOptions{Sync: reconcile.Options{}, AllowDeletes: allowDeletes,
		RestoreMarker: true, Log: r.log})
	if err != nil {
		return fmt.Errorf("%s: %w", l.ID, err)
	}
	_, _ = fmt.Fprintf(r.stdout, "%s  %s: %d sent, %d deleted, %s\n", l.ID, l.Store, got.Pushed, got.Deleted, count(got.Conflicts, "conflict", "conflicts"))
	left := got.Left.Edits
	if !got.Settled {
		left = append(left, got.Left.Deletes...)
		return exitcode.Errorf(exitcode.EditsKept, "%s: not sent and kept: %s", l.ID, strings.Join(left, ", "))
	}
	for _, path := range got.Left.Deletes {
		_, _ = fmt.Fprintf(r.stdout, "%s  delete not sent and discarded: %s\n", l.ID, path)
	}
	return nil
}

// reach says how to get at another endpoint.
func reach(endpoint string) string {
	if dir, local := strings.CutPrefix(endpoint, "local:"); local {
		return "memfs recover push --local " + dir
	}
	return "ANTHROPIC_BASE_URL=" + endpoint + " memfs recover push"
}

// credentials says where the credential comes from, without showing it.
func credentials(local string) string {
	if local != "" {
		return "no credential: it is the embedded store"
	}
	var sources []string
	for _, name := range credential.Names() {
		switch dir := os.Getenv("CREDENTIALS_DIRECTORY"); {
		case os.Getenv(name) != "":
			sources = append(sources, name)
		case os.Getenv(name+"_FILE") != "":
			sources = append(sources, name+"_FILE")
		case dir != "":
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				sources = append(sources, "$CREDENTIALS_DIRECTORY/"+name)
			}
		}
	}
	if len(sources) == 0 {
		return "what the SDK finds by itself"
	}
	return strings.Join(sources, " and ")
}
