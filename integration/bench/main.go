//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// config is what the command line says.
type config struct {
	dir     string
	only    string
	json    string
	memfs   string
	profile string
	heap    string
	scale   int
	rounds  int
	starts  int
	passes  int
	idle    time.Duration
}

// parts are what can be measured, in this order.
var parts = []struct {
	name    string
	measure func(context.Context, *bench) error
}{
	{"files", measureFiles}, {"cold", measureCold}, {"sessions", measureSessions}, {"large", measureLarge}, {"many", measureMany},
	{"rename", measureRenames}, {"worker", measureWorker}, {"idle", measureIdle}, {"memory", measureMemory}, {"growth", measureGrowth},
}

// children are the processes that a run starts, by their argument.
var children = map[string]func() error{"serve": serveMain, ours: memfsMain, official: officialMain, officialWorker: officialWorkerMain}

func main() {
	if len(os.Args) == 2 && children[os.Args[1]] != nil {
		exit(children[os.Args[1]]())
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	var c config
	flag.StringVar(&c.dir, "dir", os.TempDir(), "directory for everything, on the ext4 to compare with")
	flag.StringVar(&c.only, "only", strings.Join(names, ","), "parts to measure")
	flag.StringVar(&c.json, "json", "", "file to write all figures to, as JSON")
	flag.StringVar(&c.memfs, "memfs", "./memfs", "the program, for what is measured of it as a whole")
	flag.StringVar(&c.profile, "profile", "", "file for a CPU profile of the last process that mounts")
	flag.StringVar(&c.heap, "heap", "", "file for what that process has in memory in the part memory")
	flag.IntVar(&c.scale, "scale", 1, "divide all numbers of memories by this, to try something out")
	flag.IntVar(&c.rounds, "rounds", 9, "how often each file operation is measured on each filesystem")
	flag.IntVar(&c.starts, "starts", 2, "how often a peer is started; the median counts")
	flag.IntVar(&c.passes, "passes", 2, "how many passes of each kind are made; the median counts")
	flag.DurationVar(&c.idle, "idle", 15*time.Second, "how long an idle mount is watched")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rep := newReport()
	err := run(ctx, c, rep)
	rep.finish() // what there is, whatever went wrong
	rep.print(os.Stdout)
	if c.json != "" {
		err = errors.Join(err, rep.write(c.json))
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures the parts that are asked for.
func run(ctx context.Context, c config, rep *report) (err error) {
	if c.rounds < 1 || c.starts < 1 || c.passes < 1 || c.scale < 1 {
		return errors.New("rounds, starts, passes and scale are at least 1")
	}
	if c.memfs, err = filepath.Abs(c.memfs); err != nil {
		return err
	}
	top, err := os.MkdirTemp(c.dir, "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	only := strings.Split(c.only, ",")
	b := &bench{config: c, report: rep, top: top, templates: make(map[templateKey]template)}
	for _, p := range parts {
		at := slices.Index(only, p.name)
		if at < 0 {
			continue
		}
		only = slices.Delete(only, at, at+1)
		began := time.Now()
		if failed := errors.Join(p.measure(ctx, b), b.undone()); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, failed)) // the others are measured all the same
			if ctx.Err() != nil {
				return err
			}
		}
		took := fmt.Sprintf("%s took %.0f s", p.name, time.Since(began).Seconds())
		fmt.Fprintln(os.Stderr, took)
		rep.note("%s", took)
	}
	if len(only) > 0 {
		err = errors.Join(err, fmt.Errorf("no part is called %q", only))
	}
	return err
}

// bench is a run. What a part made is taken back in reverse order.
type bench struct {
	config
	report    *report
	top       string
	templates map[templateKey]template
	undo      []func() error
}

func (b *bench) after(f func() error) { b.undo = append(b.undo, f) }

func (b *bench) undone() error {
	var errs []error
	for _, f := range slices.Backward(b.undo) {
		errs = append(errs, f())
	}
	b.undo = nil
	return errors.Join(errs...)
}

// newDir makes a directory that goes with the part.
func (b *bench) newDir(what string) (string, error) {
	dir, err := os.MkdirTemp(b.top, what+"-")
	if err == nil {
		b.after(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// profileOf is the file for the profile of a peer's process.
func (b *bench) profileOf(peer string) string {
	if peer != ours {
		return ""
	}
	return b.profile
}

// scaled is a shape as large as this run wants it.
func (b *bench) scaled(s shape) shape {
	s.count, s.big = s.count/b.scale, s.big/b.scale
	return s
}
