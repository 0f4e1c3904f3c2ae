//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"memfs/integration/benchchild"
	"memfs/store/local"
)

// The rows of a worker.
const (
	rowAnswered = "first tool call answered"
	rowSession  = "session of 5 tool calls, until its end"
	rowHeld     = "memory while it runs (PSS of all processes)"
	rowBetween  = "memory of the worker after it"
)

// inARow is how many sessions a worker serves one after the other.
const inARow = 50

// measureWorker measures whole workers: the SDK's EnvironmentWorker and memfs
// worker poll, each on a work queue of its own.
func measureWorker(ctx context.Context, b *bench) error {
	if _, err := os.Stat(b.memfs); err != nil {
		b.report.note("no worker was measured: %v", err)
		return nil
	}
	s := deep
	group := "worker, " + sessionGroup(s, near)
	one := b.workers(ctx, b.scaled(s), group, b.starts)
	s = shape{count: 100, dirs: 10, size: memorySize}
	many := b.workers(ctx, s, fmt.Sprintf("%d sessions in a row, %s", inARow/b.scale, sessionGroup(s, near)), inARow/b.scale)
	return errors.Join(one, many)
}

func (b *bench) workers(ctx context.Context, s shape, group string, sessions int) error {
	t, err := b.template(ctx, s, 1)
	if err != nil {
		return err
	}
	var errs []error
	for _, peer := range both {
		if err := b.worker(ctx, group, peer, t, sessions); err != nil { // the other can do better
			errs = append(errs, fmt.Errorf("%s: worker: %w", peer, err))
		}
	}
	return errors.Join(errs...)
}

// worker has a peer serve sessions of one store, one after the other.
func (b *bench) worker(ctx context.Context, group, peer string, t template, sessions int) (err error) {
	dir, err := b.newDir("worker")
	if err != nil {
		return err
	}
	stores := filepath.Join(dir, "stores")
	if err := t.copyTo(stores); err != nil {
		return err
	}
	remote, err := serve(serveConfig{Dir: stores, Latency: near})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remote.end()) }()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	pid, end, err := b.startWorker(peer, remote, dir, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	mount := filepath.Join(dir, "mnt", "notes")
	for i := range sessions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.playSession(group, peer, remote, pid, t, mount, i); err != nil {
			return err
		}
	}
	return nil
}

// playSession has a worker serve session i, which edits file i, and adds what
// it cost.
func (b *bench) playSession(group, peer string, remote *remote, pid int, t template, mount string, i int) error {
	used, err := treeCPU(pid)
	if err != nil {
		return err
	}
	asked, err := remote.requests()
	if err != nil {
		return err
	}
	file := mount + t.path(i)
	calls := []local.ToolCall{
		call("read", "file_path", file),
		call("bash", "command", "cd "+mount+" && find . -type f | wc -l && grep -rc nothing . | wc -l"),
		call("edit", "file_path", file, "old_string", string(t.text(i, 0)[:20]), "new_string", time.Now().String()),
		call("write", "file_path", mount+"/new.md", "content", time.Now().String()),
		call("bash", "command", "echo more >> "+mount+"/new.md; mv "+mount+"/new.md "+file),
	}
	var first, rest, last serveAnswer
	began := time.Now()
	spec := &local.SessionSpec{Stores: []local.Attachment{{Store: t.infos[0].ID, MountPath: &mount}}, Script: local.Script{End: local.EndOpen}}
	if err := remote.Ask(serveOrder{Start: spec, Calls: calls[:1]}, &first); err != nil {
		return err
	}
	if err := remote.Ask(serveOrder{ID: first.Session, Calls: calls[1:]}, &rest); err != nil {
		return err
	}
	held, err := treeMemory(pid)
	if err != nil {
		return err
	}
	if err := remote.Ask(serveOrder{ID: first.Session, End: true}, &last); err != nil {
		return err
	}
	took := time.Since(began)
	time.Sleep(200 * time.Millisecond) // what served it ends: its time counts, and its memory does not
	now, err := treeCPU(pid)
	if err != nil {
		return err
	}
	between, err := treeMemory(pid)
	if err != nil {
		return err
	}
	b.report.add(group, rowAnswered, seconds, peer, first.Took.Seconds())
	b.report.addCost(group, rowSession, peer, cost{took.Seconds(), last.Requests - asked, float64((now - used).Milliseconds())})
	b.report.add(group, rowHeld, megabytes, peer, inMB(held))
	b.report.add(group, rowBetween, megabytes, peer, inMB(between))
	return nil
}

// startWorker starts a peer's worker; end ends it.
func (b *bench) startWorker(peer string, remote *remote, dir, work string) (pid int, end func() error, err error) {
	if peer == official {
		var ready struct{}
		c, err := benchchild.Start(officialWorker, officialWorkerConfig{remote.Slow, remote.EnvironmentKey, work}, &ready)
		if err != nil {
			return 0, nil, err
		}
		return c.PID(), c.End, nil
	}
	args := []string{"worker", "poll", "--workdir", work, "--log-level", "error"}
	if os.Geteuid() == 0 {
		args = append(args, "--tools-user", "root") // as the official worker's are
	}
	c := exec.Command(b.memfs, args...)
	c.Env = append(b.environment(remote.Slow, dir), "ANTHROPIC_ENVIRONMENT_ID="+local.DefaultEnvironment, "ANTHROPIC_ENVIRONMENT_KEY="+remote.EnvironmentKey)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return 0, nil, err
	}
	return c.Process.Pid, func() error { return terminate(c) }, nil
}

// environment is that of a memfs program whose files are in a directory.
func (b *bench) environment(url, dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STATE_DIRECTORY=" + filepath.Join(dir, "state"),
		"RUNTIME_DIRECTORY=" + filepath.Join(dir, "run"), "ANTHROPIC_BASE_URL=" + url}
}

// terminate tells a program to end and waits for that.
func terminate(c *exec.Cmd) error {
	_ = c.Process.Signal(syscall.SIGTERM) // it may have ended already, which Wait tells
	return ended(c)
}

// ended waits for the end of a program, and kills one that does not come to it.
func ended(c *exec.Cmd) error {
	hung := time.AfterFunc(benchchild.Patience, func() { _ = c.Process.Kill() })
	defer hung.Stop()
	return c.Wait()
}

func call(tool string, input ...string) local.ToolCall {
	c := local.ToolCall{Name: tool, Input: map[string]any{}}
	for i := 0; i < len(input); i += 2 {
		c.Input[input[i]] = input[i+1]
	}
	return c
}
