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
	"strings"
	"syscall"
	"time"
)

// config is what the command line says.
type config struct {
	dir      string
	json     string
	latency  string
	memories int
	starts   int
	passes   int
	only     string
	start    bool
	profile  string
	rename   bool
}

func main() {
	// The processes that a run starts, by their argument.
	children := map[string]func() error{"serve": serveMain, "memfs": memfsMain, "official": officialMain}
	if len(os.Args) == 2 && children[os.Args[1]] != nil {
		exit(children[os.Args[1]]())
	}
	var c config
	flag.StringVar(&c.dir, "dir", os.TempDir(), "directory for everything")
	flag.StringVar(&c.json, "json", "", "file to write all figures to, as JSON")
	flag.StringVar(&c.latency, "latency", "20ms,100ms", "what each request takes longer; several are measured one after the other")
	flag.IntVar(&c.memories, "memories", 2000, "how many memories the store has, at least 600")
	flag.IntVar(&c.starts, "starts", 3, "how often each peer is started; the median counts")
	flag.IntVar(&c.passes, "passes", 3, "how many passes of each kind are made; the median counts")
	flag.StringVar(&c.only, "only", "official,memfs", "the peers to measure")
	flag.StringVar(&c.profile, "profile", "", "file to write a CPU profile of the last memfs process to")
	flag.BoolVar(&c.start, "start", false, "measure nothing but the start")
	flag.BoolVar(&c.rename, "rename", true, "measure the rename, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, c))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchsync:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, c config) (err error) {
	if c.starts < 1 || c.passes < 1 {
		return errors.New("starts and passes are at least 1")
	}
	if c.memories < moved+100 {
		return fmt.Errorf("%d memories are not enough", c.memories)
	}
	if err := os.Setenv(profileEnv, c.profile); err != nil {
		return err
	}
	top, err := os.MkdirTemp(c.dir, "benchsync-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	templates := map[string]template{}
	for _, s := range []shape{flat, deep, big} {
		t := template{dir: filepath.Join(top, s.name), shape: s, count: c.memories}
		if t.info, err = seed(ctx, t.dir, s, c.memories); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
		templates[s.name] = t
	}
	rep := newReport()
	for text := range strings.SplitSeq(c.latency, ",") {
		latency, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		for _, s := range []shape{flat, deep} {
			if err := compare(ctx, c, rep, templates[s.name], top, latency); err != nil {
				return fmt.Errorf("%s, %s: %w", s.name, latency, err)
			}
		}
		if c.start || !c.rename {
			continue
		}
		if err := compareRename(ctx, c, rep, templates[big.name], top, latency); err != nil {
			return fmt.Errorf("%s, %s: %w", big.name, latency, err)
		}
	}
	rep.finish()
	rep.print(os.Stdout)
	if c.json != "" {
		return rep.write(c.json)
	}
	return nil
}

func compare(ctx context.Context, c config, rep *report, t template, top string, latency time.Duration) error {
	both := map[string]measured{official: {}, ours: {}}
	if err := measureStarts(ctx, t, c, top, latency, both); err != nil {
		return err
	}
	rep.add(t.shape, latency, both, rowReady, rowFirst)
	if c.start {
		return nil
	}
	for what := range strings.SplitSeq(c.only, ",") {
		if err := measurePasses(ctx, t, what, top, latency, c.passes, both[what]); err != nil {
			return fmt.Errorf("%s: passes: %w", what, err)
		}
	}
	rep.add(t.shape, latency, both, rowAll, rowIdle, rowEdit, rowRemote, rowEnd)
	return nil
}

func compareRename(ctx context.Context, c config, rep *report, t template, top string, latency time.Duration) error {
	both := map[string]measured{official: {}, ours: {}}
	for what := range strings.SplitSeq(c.only, ",") {
		after, err := measureRename(ctx, t, what, top, latency, both[what])
		if err != nil {
			return fmt.Errorf("%s: rename: %w", what, err)
		}
		if after.Old > 0 || after.New != moved {
			rep.note("%s, %s a request: at the end of the session the store has %d of the %d renamed files under the new name and %d still under the old one",
				what, latency, after.New, moved, after.Old)
		}
	}
	rep.add(t.shape, latency, both, rowRename, rowMoved)
	return nil
}
