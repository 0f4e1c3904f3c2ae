package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/process"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/cmd/memfs/internal/volume"
	"memfs/cmd/memfs/internal/worker/namespace"
)

const execName = "exec"

func (a *app) execCommand() *cobra.Command {
	var s settings
	var private, isolated bool
	cmd := &cobra.Command{
		Use:   execName + " STORE[:PATH][:ro]... -- COMMAND [ARGUMENT...]",
		Short: "Run a command with stores mounted",
		Long: `Mount stores, run a command, and when it ends send what is left and unmount. The
command does not see memfs's credentials. Signals are passed on to it. Standard
error is the command's: memfs logs only warnings and errors there, unless
--log-level says otherwise or something is asked for that is seen in the log.

With --private only the command sees the mounts, and several can have the same
store at the same path at the same time. An ordinary user needs user namespaces
for it, and a /dev/fuse that is open to all.

The exit code is the command's own; 120 where it succeeded but edits were kept
in the journal, 125 where memfs failed and nothing ran, 126 and 127 where the
command could not be run or was not found.`,
		Example: "  memfs exec notes handbook:ro -- sh -c 'cat /mnt/memory/notes/*.md'\n  memfs exec --private notes -- make test",
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 1 || dash == len(args) {
				return errors.New("usage: memfs exec STORE... -- COMMAND: name the stores, then --, then the command")
			}
			specs, err := volume.ParseAll(args[:dash])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") && !s.observation.asked() {
				a.log = a.log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
			}
			switch {
			case isolated:
				s.private = stateOfItsOwn()
				if err := namespace.Enter(nil); err != nil {
					return err
				}
			case private:
				return a.execPrivate(s)
			}
			return a.exec(cmd.Context(), s, specs, args[dash:])
		},
	}
	cmd.ValidArgsFunction = a.completeExec
	cmd.Flags().BoolVar(&private, "private", false, "mount in a namespace of the command's own, where nobody else sees it")
	cmd.Flags().BoolVar(&isolated, isolatedRun, false, "this process has a mount namespace of its own")
	_ = cmd.Flags().MarkHidden(isolatedRun)
	s.define(cmd.Flags())
	s.observation.define(cmd.Flags())
	return cmd
}

// execFailure gives an error of exec its code: where nothing ran, 125.
func execFailure(err error) error {
	var decided *exitError
	if errors.As(err, &decided) {
		return exitcode.With(decided.code, err)
	}
	return exitcode.With(exitcode.ExecFailed, err)
}

// exitError is an end of exec after the command was run, or was tried to.
type exitError struct {
	code int
	err  error
}

func (r *exitError) Error() string {
	if r.err == nil {
		return ""
	}
	return r.err.Error()
}

func (r *exitError) Unwrap() error { return r.err }

func (a *app) exec(ctx context.Context, s settings, specs []volume.Spec, argv []string) error {
	return a.hold(ctx, s, specs, func(supervisor *supervise.Supervisor, signals <-chan os.Signal) error {
		command, err := a.start(argv, s.private != "")
		if err != nil {
			return errors.Join(err, supervisor.End(signals))
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = command.Wait() // ProcessState tells how it ended
		}()
		go relay(signals, command.Process, over)
		supervisor.Wait(nil, over)
		endCommand(command.Process, over)
		return execEnd(a.log, command.ProcessState, supervisor.End(signals))
	})
}

// start starts the command as memfs itself was started: with its umask, and, where
// a private memfs is another user than it was, as that one.
func (a *app) start(argv []string, private bool) (*exec.Cmd, error) {
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = credential.Strip(os.Environ())
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := command.Start
	if private {
		if err := namespace.Leave(command); err != nil {
			return nil, err
		}
		start = func() error { return process.Dumpable(command.Start) }
	}
	err := process.WithUmask(a.umask, start)
	switch {
	case err == nil:
		return command, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, &exitError{exitcode.ExecNotFound, fmt.Errorf("command not found: %s", argv[0])}
	default:
		return nil, &exitError{exitcode.ExecNotExecutable, fmt.Errorf("cannot run %s: %w", argv[0], bare(err))}
	}
}

// bare is an error without the path that is named already.
func bare(err error) error {
	var inner *os.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// relay passes signals on to the command. An interrupt from the terminal has
// reached it already.
func relay(signals <-chan os.Signal, command *os.Process, over <-chan struct{}) {
	for {
		select {
		case got := <-signals:
			if got != syscall.SIGINT || !process.InForeground() {
				_ = command.Signal(got)
			}
		case <-over:
			return
		}
	}
}

// graceTime is how long a command may take to end that is told to because its
// mounts end.
const graceTime = 10 * time.Second

// endCommand returns when the command has ended.
func endCommand(command *os.Process, over <-chan struct{}) {
	select {
	case <-over:
		return
	default:
		_ = command.Signal(syscall.SIGTERM)
	}
	select {
	case <-over:
	case <-time.After(graceTime):
		_ = command.Kill()
		<-over
	}
}

// execEnd is the command's own code, unless it succeeded and the detach did
// not.
func execEnd(log *zap.Logger, state *os.ProcessState, detached error) error {
	switch code := shellCode(state); {
	case code != 0:
		if detached != nil {
			log.Error("not everything was sent", zap.String("code", "unsent"), zap.Error(detached))
		}
		return &exitError{code: code}
	case exitcode.Of(detached) == exitcode.EditsKept:
		return &exitError{exitcode.ExecEditsKept, detached}
	case detached != nil:
		return &exitError{exitcode.Failed, detached}
	}
	return nil
}
