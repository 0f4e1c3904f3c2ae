package main

import (
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/flags"
	"memfs/fs"
	"memfs/guard"
)

func (a *app) guardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Say whether a tool may write a path",
		Long: `Protect read-only stores from the file tools of any agent harness: writes into a
store that is mounted read-only here are refused, links followed. It does not
confine a shell: --read-only-mode=strict does.`,
		Args: group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.guardCheckCommand(), a.guardHookCommand())
	return cmd
}

func (a *app) guardCheckCommand() *cobra.Command {
	op := string(guard.Write)
	cmd := &cobra.Command{
		Use:     "check PATH...",
		Short:   "Exit with 0 where a tool may do that, with 1 where not",
		Example: "  memfs guard check /mnt/memory/handbook/rules.md\n  memfs guard check --op read notes.md",
		Args:    words(1, "name the path"),
		RunE: func(_ *cobra.Command, args []string) error {
			g, err := mountedGuard()
			if err != nil {
				return err
			}
			var errs []error
			for _, path := range args {
				errs = append(errs, g.Check(path, guard.Op(op)))
			}
			return errors.Join(errs...)
		},
	}
	flags.ChoiceVar(cmd.Flags(), &op, "op", op, []string{string(guard.Read), string(guard.Write)}, "what the tool is about to do")
	return cmd
}

func (a *app) guardHookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hook",
		Short: "Answer a tool-use hook",
		Long: `Read a tool-use hook's JSON (hook_event_name, tool_name, tool_input, cwd) on
standard input. A write into a read-only store is answered with a
permissionDecision of "deny"; anything else is answered with nothing, so that
the harness's own rules decide. What is not a tool use ends with code 2, which
harnesses take for a refusal.`,
		Example: `  {"hooks": {"PreToolUse": [{"matcher": "Write|Edit|MultiEdit|NotebookEdit",
    "hooks": [{"type": "command", "command": "memfs guard hook"}]}]}}`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			use, err := guard.ReadToolUse(os.Stdin)
			if err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			g, err := mountedGuard()
			if err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			refused := use.Check(g)
			if refused == nil {
				return nil
			}
			answer, err := use.Answer(refused)
			if err == nil {
				_, err = a.stdout.Write(answer)
			}
			return err
		},
	}
}

// mountedGuard protects the read-only stores that are mounted here, and
// nothing else.
func mountedGuard() (*guard.Guard, error) {
	mounts, err := fs.Mounts()
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		here = "/"
	}
	roots := []guard.Root{{Path: here}, {Path: "/"}}
	for _, m := range mounts {
		roots = append(roots, guard.Root{Path: m.Path, ReadOnly: m.ReadOnly || attachedReadOnly(m.Path)})
	}
	return guard.New(roots...), nil
}

// statusTimeout bounds the question to a mount: its process may hang.
const statusTimeout = 5 * time.Second

// attachedReadOnly asks a mount how its store is attached. One that does not
// answer is taken for read-only: it is protected.
func attachedReadOnly(path string) bool {
	answer := make(chan bool, 1)
	go func() {
		text := make([]byte, 64<<10)
		n, err := unix.Getxattr(path, "user.memfs.status", text)
		var status struct {
			ReadOnly bool `json:"read_only"`
		}
		answer <- err != nil || json.Unmarshal(text[:n], &status) != nil || status.ReadOnly
	}()
	select {
	case readOnly := <-answer:
		return readOnly
	case <-time.After(statusTimeout):
		return true
	}
}
