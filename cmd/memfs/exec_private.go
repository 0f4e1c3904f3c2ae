package main

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/process"
	"memfs/cmd/memfs/internal/worker/namespace"
)

// execPrivate runs this very command line in a mount namespace of its own, where
// an ordinary user is root of a user namespace: who that is decides about no
// default there.
func (a *app) execPrivate(s settings) error {
	if runtime.GOOS != "linux" {
		return exitcode.With(exitcode.HostNotReady, errors.New("--private needs Linux: "+runtime.GOOS+" has no mount namespaces"))
	}
	state, err := s.stateDirectory()
	if err != nil {
		return err
	}
	dash := slices.Index(a.args, "--")
	cmd := exec.Command(self(), slices.Insert(slices.Clone(a.args), dash, "--"+isolatedRun, "--state-dir="+state)...)
	cmd.Env = os.Environ()
	if os.Geteuid() != 0 {
		cmd.Env = append(cmd.Env, "RUNTIME_DIRECTORY="+control.Directory(os.Getenv, os.Geteuid()))
	}
	namespace.Isolate(cmd)
	syscall.Umask(a.umask) // the command is to find the one that memfs was started with
	code, err := a.standIn(cmd)
	if err != nil {
		return exitcode.Errorf(exitcode.HostNotReady, "there is no mount namespace to be had here: %w: run as root, allow user namespaces, or leave out --private", err)
	}
	return &exitError{code: code}
}

// stateOfItsOwn keeps the state of one run apart: of the same store at the same
// path there may be others. What a killed one leaves is an orphan (R16).
func stateOfItsOwn() string { return "private-" + rand.Text() }

// standIn runs a command in place of this process: signals are passed on, and the exit code is as a
// shell has it.
func (a *app) standIn(cmd *exec.Cmd) (code int, err error) {
	signals, stop := process.Signals()
	defer stop()
	cmd.Args[0] = "memfs"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, a.stdout, a.stderr
	if err := process.Dumpable(cmd.Start); err != nil {
		return 0, err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // ProcessState tells how it ended
	}()
	relay(signals, cmd.Process, over)
	return shellCode(cmd.ProcessState), nil
}

// shellCode is the exit code, or 128 and the signal's number.
func shellCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
