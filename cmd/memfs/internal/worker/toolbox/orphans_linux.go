package toolbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// orphansTime bounds the hunt for what tools left: a process that forks and
	// ends, over and over, in sessions of its own, is never caught.
	orphansTime = 5 * time.Second
	// orphansRetry is how long what was killed may take to end.
	orphansRetry = 5 * time.Millisecond
)

// killOrphans kills what the tools left running: their descendants fall to
// this process, their reaper, one after another. It has no other children that
// could be meant, since a worker serves one session in a process.
func killOrphans() error {
	for deadline := time.Now().Add(orphansTime); ; time.Sleep(orphansRetry) {
		pids, err := children()
		if err != nil {
			return fmt.Errorf("look for processes that tools left: %w", err)
		}
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes that tools left cannot be ended, such as %d", len(pids), pids[0])
		}
		for _, pid := range pids {
			kill(pid)
		}
		for _, pid := range pids {
			_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
			if err != nil && !errors.Is(err, unix.ECHILD) && !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	}
}

// kill kills a process and its group, which is not this one's: what is forked
// meanwhile does not escape.
func kill(pid int) {
	if group, err := unix.Getpgid(pid); err == nil && group > 1 && group != unix.Getpgrp() {
		_ = unix.Kill(-group, unix.SIGKILL)
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

// children are the processes whose parent this one is.
func children() ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// The name stands in parentheses and may contain anything.
		var state string
		var parent int
		if _, err := fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent); err != nil || parent != os.Getpid() {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
