//go:build linux

package main

import (
	"bufio"
	"errors"
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
	private  int64 // of them, those that are not pages of files
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
		status, err := numbersOf(filepath.Join(task, "status"))
		if err != nil {
			return u, err
		}
		u.threads++
		u.cpu += time.Duration(nanos)
		u.switches += status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"]
		u.resident, u.private = status["VmRSS"]<<10, status["RssAnon"]<<10
	}
	if u.threads == 0 {
		return u, fmt.Errorf("process %d has ended", pid)
	}
	return u, nil
}

// numbersOf reads the numbers of a file of /proc with a name before each.
func numbersOf(path string) (map[string]int64, error) {
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

// tick is the unit of the times in /proc/PID/stat.
const tick = 10 * time.Millisecond

// stat is the part of /proc/PID/stat that is read here.
type stat struct {
	parent int
	cpu    time.Duration // its own, and of children that have ended
}

func statOf(pid int) (s stat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const parent, utime, cstime = 1, 11, 14 // counted behind the name
	if s.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return s, err
	}
	for _, field := range fields[utime : cstime+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return s, err
		}
		s.cpu += time.Duration(ticks) * tick
	}
	return s, nil
}

// tree are a process and all below it, with what they say of themselves.
func tree(pid int) (map[int]stat, error) {
	links, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	all := make(map[int]stat)
	for _, link := range links {
		other, err := strconv.Atoi(filepath.Base(link))
		if err != nil {
			continue
		}
		if s, err := statOf(other); err == nil { // else it has ended
			all[other] = s
		}
	}
	within := func(p int) bool {
		for p != pid && p > 0 {
			p = all[p].parent
		}
		return p == pid
	}
	for p := range all {
		if !within(p) {
			delete(all, p)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("process %d has ended", pid)
	}
	return all, nil
}

// treeCPU is the CPU time of a process and all below it, in ticks.
func treeCPU(pid int) (sum time.Duration, err error) {
	all, err := tree(pid)
	for _, s := range all {
		sum += s.cpu
	}
	return sum, err
}

// treeMemory is what a process and all below it have in memory: pages that
// several have count once.
func treeMemory(pid int) (sum int64, err error) {
	all, err := tree(pid)
	for p := range all {
		numbers, err := numbersOf(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended
		}
		sum += numbers["Pss"] << 10
	}
	return sum, err
}

func inMB(bytes int64) float64 { return float64(bytes) / (1 << 20) }

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

func procStatus(pid int) string { return fmt.Sprintf("/proc/%d/status", pid) }
