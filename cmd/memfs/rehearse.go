package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/worker/rehearsal"
)

func (a *app) rehearseCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rehearse SCRIPT [-- WORKER-FLAG...]",
		Short: "Run a scripted session through the real worker, offline",
		Long: `Run a scripted session through the real worker on an embedded store, and print
what each tool answered and what reached the store. No key and no network are
needed. SCRIPT is a YAML file, or - for standard input; memfs serve --session
takes the same:

  stores:
    - name: My Notes            # mounted at /mnt/memory/my-notes
      memories: {/todo.md: "buy milk\n"}
    - name: handbook
      read_only: true
  skills:                       # optional
    - name: sums
      files: {SKILL.md: "How to add.\n"}
  calls:
    - bash: cat /mnt/memory/my-notes/todo.md
    - tool: write
      input: {file_path: /mnt/memory/my-notes/new.md, content: new}
  end: terminated               # or idle

Everything is made in a temporary directory; /mnt/memory stands for one in it.
With --local DIR the stores are those of DIR, found by name or made.`,
		Example: "  memfs rehearse session.yaml\n  memfs rehearse session.yaml -- --isolate --sync-interval 1",
		Args:    words(1, "name the script"),
		RunE: func(cmd *cobra.Command, args []string) error {
			level := "warn"
			if cmd.Flags().Changed("log-level") {
				level = a.logLevel
			}
			report, err := a.rehearse(cmd.Context(), args[0], append([]string{"--log-level=" + level}, args[1:]...))
			if asJSON {
				return errors.Join(err, a.printJSON(report))
			}
			_, printed := fmt.Fprint(a.stdout, report)
			return errors.Join(err, printed)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func (a *app) rehearse(ctx context.Context, script string, flags []string) (_ rehearsal.Report, err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := readScript(script)
	if err != nil {
		return rehearsal.Report{}, err
	}
	dir, err := os.MkdirTemp("", "memfs-rehearsal-")
	if err != nil {
		return rehearsal.Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return rehearsal.Report{}, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // for --tools-user
		return rehearsal.Report{}, err
	}
	return rehearsal.Run(ctx, s, rehearsal.Options{Dir: dir, Stores: a.local, Log: a.log, Worker: func(environment, args []string) *exec.Cmd {
		cmd := exec.Command(self(), append(append([]string{"worker", "poll", "--log-format=" + a.logFormat}, args...), flags...)...)
		cmd.Args[0] = "memfs"
		cmd.Env = append(withoutItem(os.Environ()), environment...)
		cmd.Env = append(cmd.Env, "MEMFS_LOCAL=")
		cmd.Stderr = a.stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}})
}

func readScript(name string) (rehearsal.Script, error) {
	var in io.Reader = os.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return rehearsal.Script{}, exitcode.With(exitcode.Usage, err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	s, err := rehearsal.Read(in)
	return s, exitcode.With(exitcode.Usage, err)
}
