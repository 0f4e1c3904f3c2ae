//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	idleGroup   = "idle mount, 2000 files of 4 KB in 50 directories, contents here"
	rowResident = "resident"
	rowPrivate  = "of it without pages of files"
	rowAwake    = "context switches in a minute without a pass"
	rowIdleCPU  = "CPU in a minute without a pass"

	// settling is how long a mount has after its last use before it counts
	// as idle.
	settling = 5 * time.Second
)

// measureIdle watches mounts that nobody uses and for which no pass is due: the
// program memfs, and rclone.
func measureIdle(ctx context.Context, b *bench) error {
	pids := make(map[string]int)
	if b.haveRclone() {
		r, err := b.startRclone(usual, 0, never)
		if err != nil {
			return err
		}
		b.after(r.close)
		if err := usual.readFrom(r.path); err != nil {
			return err
		}
		pids[rcloned] = r.mount.Process.Pid
	}
	if _, err := os.Stat(b.memfs); err == nil {
		if pids[ours], err = b.idleMemfs(ctx); err != nil {
			return err
		}
	} else {
		b.report.note("no idle mount was measured: %v", err)
	}
	if err := wait(ctx, settling); err != nil {
		return err
	}
	before := make(map[string]use)
	for peer, pid := range pids {
		u, err := usage(pid)
		if err != nil {
			return err
		}
		before[peer] = u
	}
	if err := wait(ctx, b.idle); err != nil {
		return err
	}
	minutes := b.idle.Minutes()
	for peer, pid := range pids {
		u, err := usage(pid)
		if err != nil {
			return err
		}
		b.report.add(idleGroup, rowResident, megabytes, peer, inMB(u.resident))
		b.report.add(idleGroup, rowPrivate, megabytes, peer, inMB(u.private))
		b.report.add(idleGroup, rowAwake, "", peer, float64(u.switches-before[peer].switches)/minutes)
		b.report.add(idleGroup, rowIdleCPU, cpuMillis, peer, float64((u.cpu-before[peer].cpu).Microseconds())/1e3/minutes)
	}
	return nil
}

// idleMemfs mounts with the program and reads everything.
func (b *bench) idleMemfs(ctx context.Context) (pid int, err error) {
	t, err := b.template(ctx, usual, 1)
	if err != nil {
		return 0, err
	}
	dir, err := b.newDir("idle")
	if err != nil {
		return 0, err
	}
	if err := t.copyTo(filepath.Join(dir, "stores")); err != nil {
		return 0, err
	}
	remote, err := serve(serveConfig{Dir: filepath.Join(dir, "stores")})
	if err != nil {
		return 0, err
	}
	b.after(remote.end)
	mount := filepath.Join(dir, "mnt")
	c := exec.Command(b.memfs, "mount", t.infos[0].ID+":"+mount, "--sync-interval", never.String(), "--log-level", "error")
	c.Env = append(b.environment(remote.Slow, dir), "ANTHROPIC_API_KEY="+credential)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return 0, err
	}
	b.after(func() error { return terminate(c) })
	var above, here unix.Stat_t
	if err := unix.Stat(dir, &above); err != nil {
		return 0, err
	}
	if err := soon(func() bool { return unix.Stat(mount, &here) == nil && here.Dev != above.Dev }); err != nil {
		return 0, errors.Join(fmt.Errorf("memfs mount: %w", err))
	}
	return c.Process.Pid, usual.readFrom(mount)
}

// readFrom reads all files of a shape from a directory.
func (s shape) readFrom(dir string) error {
	for i := range s.count {
		if _, err := os.ReadFile(dir + s.path(i)); err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
