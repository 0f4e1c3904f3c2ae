package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/control"
)

func (a *app) syncCommand() *cobra.Command {
	var allowDeletes bool
	cmd := &cobra.Command{
		Use:   "sync [PATH...]",
		Short: "Run a pass now and wait for it",
		Long: `Run a pass now and wait for it: everything changed so far is sent, and what
changed in the stores arrives. Without a PATH it is for every mount of this user.`,
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
	if len(live) == 0 {
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
			return fmt.Errorf("%s is not mounted by memfs: memfs status lists what is", path)
		}
		if requests[p] == nil {
			requests[p] = &control.SyncRequest{AllowDeletes: allowDeletes}
		}
		mount, _ := p.Serves(path)
		requests[p].Paths = append(requests[p].Paths, mount)
	}
	var errs []error
	for _, p := range live {
		switch request := requests[p]; {
		case request != nil:
			errs = append(errs, p.Sync(ctx, *request))
		case len(paths) == 0:
			errs = append(errs, p.Sync(ctx, control.SyncRequest{AllowDeletes: allowDeletes}))
		}
	}
	return errors.Join(errs...)
}
