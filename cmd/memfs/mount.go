package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"memfs/cmd/memfs/internal/daemon"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/logging"
	"memfs/cmd/memfs/internal/service"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/cmd/memfs/internal/volume"
)

func (a *app) mountCommand() *cobra.Command {
	var s settings
	var background bool
	cmd := &cobra.Command{
		Use:   "mount STORE[:PATH][:ro]... | --session ID",
		Short: "Mount stores and keep them mounted",
		Long: `Mount stores and keep them mounted until SIGTERM, SIGINT or memfs unmount. Then
what is left is sent, within 30 s, and everything that mounting made is removed.

STORE is an id, or a name that only one store has. Without a PATH it is mounted
under --root, in a directory called like the store: "User Preferences" becomes
user-preferences. A PATH is absolute. With :ro nothing is ever sent to the store;
:rw is what goes without saying.

--session ID mounts what a session has attached, where its agent looks for it.`,
		Example: `  memfs mount memstore_01ABC "User Preferences:/srv/prefs" handbook:ro
  memfs mount notes --daemon --sync-interval 5
  memfs mount --session session_01ABC`,
		ValidArgsFunction: a.completeStores,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case s.session == "" && len(args) == 0:
				return exitcode.Errorf(exitcode.Usage, "name the stores to mount (see %s --help)", cmd.CommandPath())
			case s.session != "" && len(args) > 0:
				return exitcode.Errorf(exitcode.Usage, "name stores, or a session with --session, not both")
			}
			specs, err := volume.ParseAll(args)
			if err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			child, err := daemon.Inherit()
			if err != nil {
				return err
			}
			if background && child == nil {
				return a.background(cmd.Context())
			}
			return a.mount(cmd.Context(), s, specs, child)
		},
	}
	s.define(cmd.Flags())
	s.observation.define(cmd.Flags())
	cmd.Flags().StringVar(&s.session, "session", "", "mount the stores of the session with this `id`")
	cmd.Flags().BoolVar(&background, "daemon", false, "return when the mounts are ready; they stay, and log to memfs.log in the state directory")
	return cmd
}

// background runs this command once more in the background.
func (a *app) background(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	_, err := daemon.Start(ctx, a.args)
	return err
}

func (a *app) mount(ctx context.Context, s settings, specs []volume.Spec, child *daemon.Child) error {
	return a.hold(ctx, s, specs, func(supervisor *supervise.Supervisor, signals <-chan os.Signal) error {
		if err := a.ready(s, child); err != nil {
			return errors.Join(err, supervisor.End(signals))
		}
		ending := a.tellManager(ctx, func() string { return summary(supervisor.Report()) })
		if child == nil && s.hydrate != "off" {
			defer a.showHydration(supervisor.Report)()
		}
		supervisor.Wait(signals, nil)
		ending()
		return supervisor.End(signals)
	})
}

// tellManager tells the service manager, if there is one, that this process is
// ready, and how it does until ending is called.
func (a *app) tellManager(ctx context.Context, status func() string) (ending func()) {
	manager := service.Find(os.Getenv, a.log)
	ctx, cancel := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() { manager.Run(ctx, status) })
	return func() {
		cancel()
		telling.Wait()
		manager.Stopping("final pass and unmount")
	}
}

// ready lets the command return that waits in the foreground.
func (a *app) ready(s settings, child *daemon.Child) error {
	if child == nil {
		return nil
	}
	dir, err := s.stateDirectory()
	if err != nil {
		return err
	}
	log, err := logging.Open(filepath.Join(dir, "memfs.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	return child.Ready(log)
}
