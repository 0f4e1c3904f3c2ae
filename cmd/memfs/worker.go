package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/flags"
	"memfs/cmd/memfs/internal/process"
	"memfs/cmd/memfs/internal/worker"
	"memfs/cmd/memfs/internal/worker/namespace"
	"memfs/cmd/memfs/internal/worker/toolbox"
)

// environmentKey is the variable that authorizes a worker.
const environmentKey = "ANTHROPIC_ENVIRONMENT_KEY"

func (a *app) workerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Serve the sessions of a self-hosted environment",
		Long: `Serve the sessions of a self-hosted environment: mount each session's stores
where its agent expects them, run the agent's tools there, send what is left and
unmount. The tools run in a process of their own, without memfs's credentials.`,
		Args: group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.workerPollCommand(), a.workerRunCommand(), a.workerToolsCommand(), a.workerEnterCommand())
	return cmd
}

// workerSettings are the flags of both ways to serve sessions.
type workerSettings struct {
	settings
	workdir   string
	maxIdle   time.Duration
	memory    string
	fuse      string
	toolsUser string
	hide      []string
}

func (s *workerSettings) define(set *pflag.FlagSet) {
	s.settings.define(set)
	s.observation.define(set)
	set.Lookup("root").Usage = "`directory` for stores whose session names no mount path (default WORKDIR/memory)"
	set.Lookup("root").DefValue = ""
	s.root = ""
	set.StringVar(&s.workdir, "workdir", ".", "`directory` in which tools run and skills are put")
	flags.DurationVar(set, &s.maxIdle, "max-idle", time.Minute, 0, "how long a session may be idle before it is let go")
	flags.ChoiceVar(set, &s.memory, "memory", "on", []string{"on", "off"}, "off leaves the sessions' stores alone")
	flags.ChoiceVar(set, &s.fuse, "fuse", fuseRequire, []string{fuseRequire, fuseAuto, fuseOff}, "what to do where stores cannot be mounted: fail, or copy them as the official worker does (auto, off)")
	set.StringArrayVar(&s.hide, "hide", nil, "directory or `file` that tools run with privileges given up do not see, besides memfs's own")
	set.StringVar(&s.toolsUser, "tools-user", "", "`user` (a name, or UID:GID) as whom the tools run, where memfs is root (default the owner of --workdir)")
}

func (a *app) workerPollCommand() *cobra.Command {
	var s workerSettings
	var o pollSettings
	cmd := &cobra.Command{
		Use:   "poll",
		Short: "Claim and serve sessions until told to end",
		Long: `Poll the environment's work queue and serve the sessions it offers, each in a
process of its own. SIGTERM and SIGINT end it: no more work is claimed, and
running sessions get their final pass. A second signal cuts that short.

ANTHROPIC_ENVIRONMENT_KEY (or ANTHROPIC_ENVIRONMENT_KEY_FILE, or a file of that
name in $CREDENTIALS_DIRECTORY) authorizes it; ANTHROPIC_ENVIRONMENT_ID stands
for --environment-id.`,
		Example: "  memfs worker poll --environment-id env_01ABC --workdir /workspace --max-sessions 4",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.workerPoll(cmd.Flags(), s, o)
		},
	}
	s.define(cmd.Flags())
	o.define(cmd.Flags())
	return cmd
}

// pollSettings are the flags of worker poll alone.
type pollSettings struct {
	environment string
	maxSessions int
	onWork      string
	isolate     string
	share       bool
}

func (o *pollSettings) define(set *pflag.FlagSet) {
	set.StringVar(&o.environment, "environment-id", "", "`environment` whose work is claimed (default $ANTHROPIC_ENVIRONMENT_ID)")
	set.IntVar(&o.maxSessions, "max-sessions", 1, "how many sessions are served at the same time")
	flags.ChoiceVar(set, &o.isolate, "isolate", isolateOff, []string{isolateAuto, isolateOn, isolateOff}, "give each session a mount namespace, so that two can have the same store at the same path")
	set.Lookup("isolate").NoOptDefVal = isolateOn
	set.BoolVar(&o.share, "share-workdir", false, "have all sessions work in --workdir itself, where each would have a directory in it: with --max-sessions above 1, or --isolate")
	set.StringVar(&o.onWork, "on-work", "", "`script` to run for each work item, instead of serving it here; it gets the item in variables and as JSON on standard input")
}

func (a *app) workerPoll(set *pflag.FlagSet, s workerSettings, o pollSettings) error {
	key, err := credential.Lookup(environmentKey)
	if err != nil {
		return err
	}
	environment := cmp.Or(o.environment, os.Getenv("ANTHROPIC_ENVIRONMENT_ID"))
	switch {
	case a.local != "":
		return exitcode.Errorf(exitcode.Usage, "a worker needs a server: memfs serve --local %s, and the lines it prints; or memfs rehearse", a.local)
	case environment == "":
		return exitcode.Errorf(exitcode.Usage, "name the environment: --environment-id, or ANTHROPIC_ENVIRONMENT_ID")
	case key == "":
		return exitcode.Errorf(exitcode.Usage, "set %s (or %s_FILE) to the environment's key", environmentKey, environmentKey)
	case o.maxSessions < 1:
		return exitcode.Errorf(exitcode.Usage, "--max-sessions is at least 1")
	}
	c, err := a.workerConfig(&s, o.onWork == "")
	if err != nil {
		return err
	}
	counts, err := a.observeSessions(&s.observation, c.Runtime)
	if err != nil {
		return err
	}
	defer a.close(s.observation.end)
	if s.fuse, err = a.resolveFUSE(s, c); err != nil {
		return err
	}
	signals, stop := process.Signals()
	defer stop()
	serve := a.serveByScript(o.onWork, key, c.Workdir)
	if o.onWork == "" {
		isolate := false
		if s.fuse != fuseOff {
			if isolate, err = a.isolated(o.isolate, c); err != nil {
				return err
			}
		}
		serve = a.serveHere(set, s, c, isolate, !o.share && (isolate || o.maxSessions > 1))
	}
	defer a.tellManager(context.Background(), func() string { return "polling for work" })()
	return worker.Poll(worker.PollConfig{
		BaseURL: c.BaseURL, EnvironmentID: environment, EnvironmentKey: key, MaxSessions: o.maxSessions, StateDir: c.Attach.StateDir,
		Metrics: counts, Log: a.log,
		Command: serve, Start: func(cmd *exec.Cmd) error { return process.WithUmask(a.umask, cmd.Start) },
	}, signals)
}

// serveHere runs this program once more for each item, with the same settings.
func (a *app) serveHere(set *pflag.FlagSet, s workerSettings, c worker.Config, isolate, own bool) func(worker.Item) *exec.Cmd {
	args := []string{"worker", "run", "--" + untilEOF, "--state-dir=" + c.Attach.StateDir, "--workdir=" + c.Workdir, "--fuse=" + s.fuse}
	known := a.workerRunCommand().Flags()
	set.Visit(func(f *pflag.Flag) {
		if known.Lookup(f.Name) != nil && !slices.Contains([]string{"state-dir", "workdir", "fuse", "hide", "metrics-addr", "tools-user"}, f.Name) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	if s.toolsUser != "" {
		args = append(args, "--tools-user="+s.toolsUser)
	}
	args = append(args, "--log-level="+a.logLevel, "--log-format="+a.logFormat)
	for _, path := range c.Tools.Hide {
		args = append(args, "--hide="+path)
	}
	if isolate {
		args = append(args, "--"+isolatedRun)
	}
	if s.observation.metrics != nil {
		args = append(args, "--"+countedRun)
	}
	if own {
		args = append(args, "--"+ownDirectory)
	}
	return func(worker.Item) *exec.Cmd {
		cmd := exec.Command(self(), args...)
		if isolate {
			cmd = inNamespace(args)
		}
		cmd.Args[0] = "memfs"
		cmd.Env = append(credential.Strip(withoutItem(os.Environ())), "RUNTIME_DIRECTORY="+c.Runtime)
		a.childOf(cmd)
		return cmd
	}
}

// serveByScript hands items over as the official worker does.
func (a *app) serveByScript(script, key, workdir string) func(worker.Item) *exec.Cmd {
	return func(item worker.Item) *exec.Cmd {
		cmd := exec.Command(script)
		cmd.Dir = workdir
		cmd.Env = append(withoutItem(os.Environ()), "ANTHROPIC_WORK_ID="+item.ID, "ANTHROPIC_SESSION_ID="+item.SessionID,
			"ANTHROPIC_ENVIRONMENT_ID="+item.EnvironmentID, environmentKey+"="+key)
		a.childOf(cmd)
		return cmd
	}
}

// childOf is common to what worker poll starts. A signal from the terminal is
// for the poller, which tells the others.
func (a *app) childOf(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = a.stdout, a.stderr
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// What worker poll tells the processes that it starts.
const (
	untilEOF     = "until-eof"
	isolatedRun  = "isolated"
	countedRun   = "counted"
	ownDirectory = "own-directory"
)

func (a *app) workerRunCommand() *cobra.Command {
	var s workerSettings
	var watch, isolated, own bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Serve one claimed work item and exit",
		Long: `Serve one work item that somebody else has claimed, as the entrypoint of a
session's sandbox or from the script of worker poll --on-work.

The item is in ANTHROPIC_WORK_ID, ANTHROPIC_SESSION_ID, ANTHROPIC_ENVIRONMENT_ID
and ANTHROPIC_WORK_SECRET; where there is no secret among them, its JSON is read
from standard input, unless that is a terminal. ANTHROPIC_ENVIRONMENT_KEY is
needed only where the secret has no sessions token.`,
		Example: "  memfs worker run --workdir /workspace < item.json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.workerRun(s, watch, isolated, own) },
	}
	s.define(cmd.Flags())
	cmd.Flags().BoolVar(&watch, untilEOF, false, "end the session when standard input ends")
	cmd.Flags().BoolVar(&isolated, isolatedRun, false, "this process has a mount namespace of its own")
	cmd.Flags().BoolVar(&s.observation.report, countedRun, false, "count for the process that asks over the control socket")
	cmd.Flags().BoolVar(&own, ownDirectory, false, "work in a directory of the session's in --workdir")
	for _, name := range []string{untilEOF, isolatedRun, countedRun, ownDirectory} {
		_ = cmd.Flags().MarkHidden(name)
	}
	return cmd
}

func (a *app) workerRun(s workerSettings, watch, isolated, own bool) error {
	signals, stop := process.Signals()
	defer stop()
	key, err := credential.Lookup(environmentKey)
	if err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if isatty.IsTerminal(os.Stdin.Fd()) {
		in = nil
	}
	item, err := worker.ReadItem(os.Getenv, key, in)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	if err := a.observeItem(&s.observation, item.SessionID); err != nil {
		return err
	}
	defer a.close(s.observation.end)
	c, err := a.workerConfig(&s, !watch)
	if c.Isolated = isolated; isolated && err == nil {
		err = namespace.Enter(nil)
	}
	if err == nil && own {
		var leave func()
		if c.Workdir, leave, err = worker.OwnDirectory(c.Workdir, item.SessionID, c.Tools.User); err == nil {
			defer leave()
		}
		c.Tools.Alone = c.Workdir
	}
	if err == nil && !watch {
		s.fuse, err = a.resolveFUSE(s, c)
	}
	if err != nil {
		worker.GiveUp(backend.URL(), item, err, a.log)
		return err
	}
	if watch {
		ends := make(chan os.Signal, 1)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			ends <- syscall.SIGTERM
		}()
		signals = either(signals, ends)
	}
	serve := worker.Serve
	if s.fuse == fuseOff {
		serve = worker.ServeCopies
		err = a.clearDead(c.Attach.StateDir)
	}
	err = errors.Join(err, serve(c, item, signals))
	if watch && err != nil {
		err = exitcode.With(exitcode.Of(err), errors.New("")) // the log has it, and worker poll says it once more
	}
	return err
}

// either passes on what comes from both.
func either(a, b <-chan os.Signal) <-chan os.Signal {
	both := make(chan os.Signal, 2)
	for _, from := range []<-chan os.Signal{a, b} {
		go func() {
			for got := range from {
				both <- got
			}
		}()
	}
	return both
}

// workerToolsCommand is the process that runs an agent's tools.
func (a *app) workerToolsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tools", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			code, err := toolbox.Main()
			if err == nil && code != 0 {
				err = exitcode.With(code, errors.New("")) // who asked for tools says what it means
			}
			return err
		},
	}
}

// withoutItem is environ without a work item of this process's own.
func withoutItem(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		return strings.HasPrefix(pair, "ANTHROPIC_WORK_") || strings.HasPrefix(pair, "ANTHROPIC_SESSION_ID=")
	})
}
