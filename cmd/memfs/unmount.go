package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/fs"
	"memfs/fs/attach"
	"memfs/fs/mountpoint"
)

func (a *app) unmountCommand() *cobra.Command {
	var s settings
	var all bool
	cmd := &cobra.Command{
		Use:     "unmount PATH... | --all",
		Aliases: []string{"umount"},
		Short:   "Send what is left, unmount and remove what mounting made",
		Long: `Send what is left, unmount, and remove the directories that mounting made. All
mounts of one memfs process end together. It succeeds where nothing is mounted
any more, and cleans up after a process that died.`,
		Example:           "  memfs unmount /mnt/memory/notes\n  memfs unmount --all",
		ValidArgsFunction: completeMounts,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return exitcode.Errorf(exitcode.Usage, "name the paths to unmount, or --all")
			}
			state, err := s.stateDirectory()
			if err != nil {
				return err
			}
			return a.unmount(cmd.Context(), args, state)
		},
	}
	s.defineState(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "end every memfs process of this user, or of RUNTIME_DIRECTORY")
	return cmd
}

// unmount ends the processes that serve paths; none means all of them. state is
// where a process that died has noted which directories it made.
func (a *app) unmount(ctx context.Context, paths []string, state string) error {
	live, err := a.processes(ctx)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.Join(detachAll(ctx, live), a.clearDead(state))
	}
	var ending []*control.Process
	var rest []string
	for _, path := range paths {
		path, err := absolute(path)
		if err != nil {
			return err
		}
		if p := serving(live, path); p != nil {
			ending = append(ending, p)
		} else {
			rest = append(rest, path)
		}
	}
	return errors.Join(detachAll(ctx, ending), a.clearPaths(rest, state))
}

// detachAll ends every process once, all at the same time. The first error in
// order decides the exit code.
func detachAll(ctx context.Context, processes []*control.Process) error {
	results := map[*control.Process]chan error{}
	var order []chan error
	for _, p := range processes {
		if results[p] != nil {
			continue
		}
		result := make(chan error, 1)
		results[p], order = result, append(order, result)
		go func() { result <- p.Detach(ctx) }()
	}
	var errs []error
	for _, result := range order {
		errs = append(errs, <-result)
	}
	return errors.Join(errs...)
}

// clearPaths takes dead mounts away. A live one that no process answers for is
// left alone and named.
func (a *app) clearPaths(paths []string, state string) error {
	mounts, err := fs.Mounts()
	errs := []error{err, a.endHung(state)}
	for _, path := range paths {
		switch {
		case fs.Stale(path):
			errs = append(errs, clearPath(path, state))
		case slices.ContainsFunc(mounts, func(m fs.MountInfo) bool { return m.Path == path }):
			errs = append(errs, unserved(path))
		default:
			_, _ = fmt.Fprintln(a.stdout, "nothing is mounted at "+path)
		}
	}
	return errors.Join(errs...)
}

// endHung ends killed processes that hang, so that their mounts are dead ones.
func (a *app) endHung(state string) error {
	if _, err := os.Lstat(state); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return attach.EndHung(a.log, state)
}

// clearDead takes away every dead mount that this user may unmount.
func (a *app) clearDead(state string) error {
	mounts, err := fs.Mounts()
	err = errors.Join(err, a.endHung(state))
	for _, m := range mounts {
		if err := clearPath(m.Path, state); err != nil {
			a.log.Warn("a dead mount was left", zap.String("code", "dead_mount_left"), zap.String("path", m.Path), zap.Error(err))
		}
	}
	return err
}

// clearPath takes a dead mount away, and the directories that were made for it.
func clearPath(path, state string) error {
	if !fs.Stale(path) {
		return nil
	}
	if err := mountpoint.Clear(state, path); err != nil {
		return err
	}
	point, err := mountpoint.Take(state, path, false)
	var foreign *mountpoint.TakenError
	if errors.As(err, &foreign) {
		return nil
	}
	if err != nil {
		return err
	}
	return point.Remove()
}

// absolute is how the kernel's mount table spells path. The last name is not
// looked at: its mount may be dead.
func absolute(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
