package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/worker"
	"memfs/cmd/memfs/internal/worker/namespace"
)

// The words of --isolate.
const (
	isolateOff  = "off"
	isolateOn   = "on"
	isolateAuto = "auto"
)

// isolated decides whether each session gets a mount namespace, and says so.
func (a *app) isolated(how string, c worker.Config) (bool, error) {
	if how == isolateOff {
		return false, nil
	}
	reason := a.tryIsolation(c)
	switch {
	case reason == nil:
		a.log.Info("sessions are isolated: each has its mounts in a namespace of its own", zap.String("code", "isolated"))
		return true, nil
	case how == isolateOn:
		return false, exitcode.Errorf(exitcode.HostNotReady, "sessions cannot be isolated here: %w: use --isolate=auto, or off", reason)
	default:
		a.log.Info("sessions are not isolated: their mounts can be seen on this host, and a store can be mounted at one path once",
			zap.String("code", "not_isolated"), zap.Error(reason))
		return false, nil
	}
}

// tryIsolation mounts something in a namespace: memfs doctor does, for root,
// who everybody is in a user namespace.
func (a *app) tryIsolation(c worker.Config) error {
	if runtime.GOOS != "linux" {
		return namespace.ErrCover
	}
	var said bytes.Buffer
	cmd := inNamespace([]string{"doctor", "--state-dir=" + c.Attach.StateDir, "--root=" + c.Workdir, "--log-level=error"})
	cmd.Env, cmd.Stdout, cmd.Stderr = credential.Strip(os.Environ()), &said, &said
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return nil
}

// inNamespace runs this program in a mount namespace of its own. An ordinary
// user's needs a user namespace, whose ids the kernel lets only a dumpable
// process set: one that holds nothing, in between.
func inNamespace(args []string) *exec.Cmd {
	if os.Geteuid() != 0 {
		return exec.Command(self(), append([]string{"worker", "enter"}, args...)...)
	}
	cmd := exec.Command(self(), args...)
	namespace.Isolate(cmd)
	return cmd
}

// workerEnterCommand is that process. Its environment has no secrets, and what
// it passes on it does not read.
func (a *app) workerEnterCommand() *cobra.Command {
	return &cobra.Command{
		Use: "enter", Hidden: true, DisableFlagParsing: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { a.running = true; return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			cmd := exec.Command(self(), args...)
			namespace.Isolate(cmd)
			code, err := a.standIn(cmd)
			if err == nil && code != 0 {
				err = exitcode.With(code, errors.New("")) // it has said why
			}
			return err
		},
	}
}
