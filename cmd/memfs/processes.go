package main

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/control"
	"memfs/fs"
	"memfs/fs/mountpoint"
)

// processes finds the memfs processes that this user may command. One that
// does not answer is a warning: it must not hide the others.
func (a *app) processes(ctx context.Context) ([]*control.Process, error) {
	live, err := control.Processes(ctx, control.Directory(os.Getenv, os.Geteuid()))
	if err != nil {
		a.log.Warn("not every memfs process answers", zap.String("code", "process_silent"), zap.Error(err))
	}
	return live, ctx.Err()
}

// serving is the process that serves path, or the mount that path lies in; nil
// if there is none.
func serving(live []*control.Process, path string) *control.Process {
	for _, p := range live {
		if _, ok := p.Serves(path); ok {
			return p
		}
	}
	return nil
}

// unserved says why no process can be told anything about path.
func unserved(path string) error {
	mounts, err := fs.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if mountpoint.Inside(path, m.Path) {
			return fmt.Errorf("%s is mounted by a memfs process that cannot be reached from here: run this as its user and with its RUNTIME_DIRECTORY, or umount %s", m.Path, m.Path)
		}
	}
	return fmt.Errorf("%s is not mounted by memfs: memfs status lists what is", path)
}
