package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/flags"
	"memfs/cmd/memfs/internal/process"
	"memfs/cmd/memfs/internal/worker/rehearsal"
	"memfs/store/claude"
	"memfs/store/local"
)

// defaultListen is where memfs serve listens where nothing else is said.
const defaultListen = "127.0.0.1:8765"

func (a *app) serveCommand() *cobra.Command {
	var listen string
	var sessions []string
	cmd := &cobra.Command{
		Use:   "serve --local DIR",
		Short: "Serve the embedded store over HTTP",
		Long: `Serve the embedded store of a directory over HTTP, with the same API as the real
one, and print the lines that point other commands and the SDK at it. It ends
with SIGTERM or SIGINT, when the requests under way are answered.

Any key is accepted, unless MEMFS_SERVE_KEY (or MEMFS_SERVE_KEY_FILE, or a file
MEMFS_SERVE_KEY in $CREDENTIALS_DIRECTORY) says which one is.

It has a work queue: a session of a script (--session, in the YAML of memfs
rehearse), or one that is made over its API (POST /v1/sessions, with the agent's
tool calls in memfs_script), is offered to memfs worker poll.
ANTHROPIC_ENVIRONMENT_KEY is what workers need; a new one where it is not set.`,
		Example: "  memfs serve --local ./stores\n  memfs serve --local ./stores --listen 127.0.0.1:0 --session session.yaml",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.local == "" {
				return exitcode.Errorf(exitcode.Usage, "serve needs --local DIR: the directory that holds the stores")
			}
			return a.serve(cmd.Context(), listen, sessions)
		},
	}
	cmd.Flags().StringArrayVar(&sessions, "session", nil, "`script` of a session to queue for a worker; may be repeated")
	flags.AddressVar(cmd.Flags(), &listen, "listen", defaultListen, false, "`address` to listen on; port 0 takes a free one")
	return cmd
}

func (a *app) serve(ctx context.Context, address string, sessions []string) (err error) {
	scripts := make([]rehearsal.Script, len(sessions))
	for i, name := range sessions {
		if scripts[i], err = readScript(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	signals, stop := process.Signals()
	defer stop()
	key, err := credential.Lookup(credential.ServeName)
	if err != nil {
		return err
	}
	workers, err := credential.Lookup(environmentKey)
	if err != nil {
		return err
	}
	server, err := local.Open(a.local, local.Options{Credential: key, EnvironmentKey: workers, Log: a.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%w: choose another address with --listen", err)
	}
	if key == "" && !loopback(l.Addr()) {
		a.log.Warn("any key is accepted from anywhere: set MEMFS_SERVE_KEY", zap.String("code", "open_server"), zap.Stringer("address", l.Addr()))
	}
	s := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second}
	s.RegisterOnShutdown(server.EndStreams)
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.queue(ctx, server, cmp.Or(key, "any"), scripts); err != nil {
		return errors.Join(err, s.Close())
	}
	if workers == "" {
		workers = server.EnvironmentKey()
	} else {
		workers = "$" + environmentKey
	}
	if err := a.printServed(l.Addr(), key, workers); err != nil {
		return errors.Join(err, s.Close())
	}
	select {
	case err := <-failed:
		return err
	case <-signals:
	case <-ctx.Done():
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	return s.Shutdown(ctx)
}

// queue makes the sessions of scripts, and says when each is over.
func (a *app) queue(ctx context.Context, server *local.Server, key string, scripts []rehearsal.Script) error {
	if len(scripts) == 0 {
		return nil
	}
	api, err := claude.New(claude.Config{BaseURL: "http://embedded.invalid", Credential: key, HTTPClient: backend.InProcess(server.Handler()), Log: a.log})
	if err != nil {
		return err
	}
	defer api.Close()
	for _, script := range scripts {
		ids, err := script.MakeStores(ctx, api)
		if err != nil {
			return err
		}
		session, err := script.Start(ctx, server, local.DefaultMountRoot, ids)
		if err != nil {
			return err
		}
		a.log.Info("a scripted session is queued", zap.String("code", "session_queued"), zap.String("session_id", session.ID()), zap.Int("calls", len(script.Calls)))
		go func() {
			if session.Wait(ctx) != nil {
				return // the server ends first
			}
			failed := 0
			for _, answer := range session.Answers() {
				if answer.Error {
					failed++
				}
			}
			a.log.Info("a scripted session is done", zap.String("code", "session_over"), zap.String("session_id", session.ID()),
				zap.Int("answers", len(session.Answers())), zap.Int("errors", failed))
		}()
	}
	return nil
}

func (a *app) printServed(address net.Addr, key, workers string) error {
	if key == "" {
		key = "any"
	} else {
		key = "$" + credential.ServeName
	}
	_, err := fmt.Fprintf(a.stdout, "export ANTHROPIC_BASE_URL=http://%s\nexport ANTHROPIC_API_KEY=%s\nexport ANTHROPIC_ENVIRONMENT_ID=%s\nexport %s=%s\n",
		address, key, local.DefaultEnvironment, environmentKey, workers)
	return err
}

func loopback(address net.Addr) bool {
	a, err := netip.ParseAddrPort(address.String())
	return err == nil && a.Addr().IsLoopback()
}
