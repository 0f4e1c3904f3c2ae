package main

import (
	"context"
	"os"

	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/control"
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
