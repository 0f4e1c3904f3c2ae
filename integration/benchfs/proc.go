//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// use is what a process has used so far.
type use struct {
	cpu      time.Duration
	switches int64 // context switches of all threads, wanted and not
	threads  int
	resident int64 // bytes in memory now
	private  int64 // of them, those that are not pages of the program's file
}

// usage reads what a process has used. The CPU time is the scheduler's, in
// nanoseconds, of the threads that live.
func usage(pid int) (use, error) {
	var u use
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return u, err
	}
	for _, task := range tasks {
		sched, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(sched), " ")
		nanos, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return u, err
		}
		status, err := statusOf(filepath.Join(task, "status"))
		if err != nil {
			return u, err
		}
		u.threads++
		u.cpu += time.Duration(nanos)
		u.switches += status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"]
		u.resident, u.private = status["VmRSS"]<<10, status["RssAnon"]<<10
	}
	return u, nil
}

// jiffies is the CPU time of a process in the clock's ticks.
func jiffies(pid int) (int64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const utime, stime = 11, 12 // counted behind the name
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	return user + system, err
}

// statusOf reads the numbers of a status file of /proc.
func statusOf(path string) (map[string]int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	numbers := make(map[string]int64)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if words := strings.Fields(value); len(words) > 0 {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
				numbers[name] = n
			}
		}
	}
	return numbers, nil
}

// mountOptions describes the filesystem that a directory is on.
func mountOptions(dir string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	best, found := "", "unknown"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 {
			continue
		}
		at := fields[4]
		if len(at) >= len(best) && (dir == at || strings.HasPrefix(dir, strings.TrimSuffix(at, "/")+"/")) {
			_, rest, _ := strings.Cut(lines.Text(), " - ")
			best, found = at, rest
		}
	}
	return found
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

func procStatus(pid int) string { return fmt.Sprintf("/proc/%d/status", pid) }
