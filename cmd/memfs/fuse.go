package main

import (
	"context"
	"strings"

	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/worker"
	"memfs/guard"
)

// The words of --fuse.
const (
	fuseRequire = "require"
	fuseAuto    = "auto"
	fuseOff     = "off"
)

// resolveFUSE decides between mounts (require) and copies (off), and says once
// what is lost with the mounts.
func (a *app) resolveFUSE(s workerSettings, c worker.Config) (string, error) {
	why := "--fuse=off"
	if s.fuse == fuseAuto {
		report := guard.Doctor(context.Background(), guard.Options{Root: c.Workdir, StateDir: c.Attach.StateDir, AllowOther: c.Attach.AllowOther})
		if report.Verdict == guard.VerdictFUSE {
			return fuseRequire, nil
		}
		why = strings.Join(report.Blockers, ", ")
	} else if s.fuse == fuseRequire {
		return fuseRequire, nil
	}
	if c.Tools.User != nil {
		return "", exitcode.Errorf(exitcode.HostNotReady, "stores cannot be mounted here (%s), and copies of them belong to memfs's user, whom the tools are not: start memfs as the user that runs the tools, name --tools-user=root, or mend what memfs doctor names", why)
	}
	a.log.Warn("stores are not mounted but copied into directories, as the official worker does: a killed worker loses edits and leaves a directory that blocks the next session; "+
		"changes travel only after tool calls; a rename makes a new memory; texts that lose a conflict are not kept; what the store cannot take is refused late; "+
		"sessions cannot be isolated",
		zap.String("code", "no_fuse"), zap.String("why", why), zap.String("rules", "R2-R9, R11, R14-R16, R18, R20"),
		zap.String("remedy", "memfs doctor says how this host can mount"))
	return fuseOff, nil
}
