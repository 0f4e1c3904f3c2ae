//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
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
	profile string
	heap    string
	rounds  int
	latency time.Duration
	idle    time.Duration
}

func main() {
	// The processes that a run starts, by their argument.
	children := map[string]func() error{"serve": serveMain, "mount": mountMain}
	if len(os.Args) == 2 && children[os.Args[1]] != nil {
		exit(children[os.Args[1]]())
	}
	var c config
	flag.StringVar(&c.dir, "dir", os.TempDir(), "directory on the ext4 to compare with; memfs keeps its state there too")
	flag.StringVar(&c.only, "only", "ops,cold,idle", "parts to measure: ops, cold, idle, memory, attach")
	flag.StringVar(&c.json, "json", "", "file to write all figures to, as JSON")
	flag.StringVar(&c.profile, "profile", "", "file to write a CPU profile of the mount to: over the table's rounds, or an attach")
	flag.StringVar(&c.heap, "heap", "", "file to write to what the mount has in memory in the part memory")
	flag.IntVar(&c.rounds, "rounds", 11, "how often each operation is measured on each filesystem, at least 7")
	flag.DurationVar(&c.latency, "latency", 50*time.Millisecond, "what each request takes longer, for attach")
	flag.DurationVar(&c.idle, "idle", 20*time.Second, "how long an idle mount is watched")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, c))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchfs:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures the parts that are asked for.
func run(ctx context.Context, c config) (err error) {
	if c.rounds < 7 {
		return errors.New("medians of fewer than 7 rounds say nothing")
	}
	dir, err := os.MkdirTemp(c.dir, "benchfs-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rep := newReport()
	for _, part := range strings.Split(c.only, ",") {
		measure := parts[part]
		if measure == nil {
			return fmt.Errorf("no part is called %q", part)
		}
		b := &bench{config: c, report: rep, top: dir}
		err := measure(ctx, b)
		if err = errors.Join(err, b.close()); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	rep.finish()
	rep.print(os.Stdout)
	if c.json != "" {
		return rep.write(c.json)
	}
	return nil
}

var parts = map[string]func(context.Context, *bench) error{
	"ops": measureOps, "cold": measureCold, "idle": measureIdle, "memory": measureMemory, "attach": measureAttach,
}

// bench is one part of a run: what it made is taken back in reverse order.
type bench struct {
	config
	report *report
	top    string
	undo   []func() error
}

func (b *bench) after(f func() error) { b.undo = append(b.undo, f) }

func (b *bench) close() error {
	var errs []error
	for _, f := range slices.Backward(b.undo) {
		errs = append(errs, f())
	}
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
