package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// Options say where a rehearsal takes place.
type Options struct {
	// Dir is an empty directory for everything that the rehearsal makes; it is
	// the caller's to remove.
	Dir string
	// Stores is the directory of an embedded store that is kept; "" is one in
	// Dir.
	Stores string
	// Worker makes the polling worker's process: environment are variables
	// that it needs, args its flags.
	Worker func(environment, args []string) *exec.Cmd
	Log    *zap.Logger
}

// endTime bounds the end of the worker after the session's.
const endTime = time.Minute

// nobody runs the tools where memfs is root.
const nobody = 65534

// errNotServed says that a session was let go before its script was done.
var errNotServed = errors.New("the session was let go before every call was answered; the worker's log says why")

// Run rehearses a script until its session has ended, or ctx does.
func Run(ctx context.Context, s Script, o Options) (Report, error) {
	r := &rehearsal{o: o, root: filepath.Join(o.Dir, "mnt")}
	if o.Stores == "" {
		r.o.Stores = filepath.Join(o.Dir, "stores")
	}
	server, err := local.Open(r.o.Stores, local.Options{MountRoot: r.root, Log: o.Log})
	if err != nil {
		return Report{}, err
	}
	r.server = server
	report, err := r.serve(ctx, s)
	return report, errors.Join(err, server.Close())
}

type rehearsal struct {
	o      Options
	root   string // of the mounts
	server *local.Server
	api    *claude.API
	url    string
}

// serve serves the embedded store while the session lasts.
func (r *rehearsal) serve(ctx context.Context, s Script) (_ Report, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return Report{}, err
	}
	web := &http.Server{Handler: r.server.Handler(), ReadHeaderTimeout: time.Minute}
	web.RegisterOnShutdown(r.server.EndStreams)
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		err = errors.Join(err, web.Shutdown(ctx))
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}()
	r.url = "http://" + l.Addr().String()
	r.api, err = claude.New(claude.Config{BaseURL: r.url, Credential: "rehearsal", Log: r.o.Log})
	if err != nil {
		return Report{}, err
	}
	defer r.api.Close()
	return r.rehearse(ctx, s)
}

func (r *rehearsal) rehearse(ctx context.Context, s Script) (Report, error) {
	report := Report{root: r.root}
	ids, err := s.MakeStores(ctx, r.api)
	if err != nil {
		return report, err
	}
	for i, id := range ids {
		before, err := list(ctx, r.api.Store(id))
		if err != nil {
			return report, err
		}
		report.Stores = append(report.Stores, StoreReport{ID: id, Name: s.Stores[i].Name, before: before})
	}
	session, err := s.Start(ctx, r.server, r.root, ids)
	if err != nil {
		return report, err
	}
	err = r.work(ctx, session)
	report.answers(session.Answers())
	for i, st := range report.Stores {
		after, listed := list(ctx, r.api.Store(st.ID))
		if listed != nil {
			return report, errors.Join(err, listed)
		}
		report.Stores[i].compare(after)
	}
	if err == nil && len(report.Calls) < len(s.Calls) {
		err = errNotServed
	}
	return report, err
}

// work has a worker serve the session, and ends it.
func (r *rehearsal) work(ctx context.Context, session *local.Session) error {
	workdir := filepath.Join(r.o.Dir, "work")
	if err := errors.Join(os.MkdirAll(workdir, 0o755), os.Chmod(workdir, 0o1777)); err != nil { // whoever runs the tools
		return err
	}
	if os.Geteuid() == 0 {
		// Its owner runs the tools. Where there is nobody but root, the worker
		// says what to do.
		if err := os.Chown(workdir, nobody, nobody); err != nil {
			r.o.Log.Debug("the working directory stays root's", zap.Error(err))
		}
	}
	command := r.o.Worker([]string{
		"ANTHROPIC_BASE_URL=" + r.url, "ANTHROPIC_ENVIRONMENT_KEY=" + r.server.EnvironmentKey(),
		"RUNTIME_DIRECTORY=" + filepath.Join(r.o.Dir, "run"),
	}, []string{"--environment-id=" + local.DefaultEnvironment, "--workdir=" + workdir, "--state-dir=" + filepath.Join(r.o.Dir, "state")})
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	exited := make(chan error, 1)
	go func() {
		err := command.Wait()
		cancel(fmt.Errorf("the worker ended: %w", errors.Join(err, errNotServed)))
		exited <- err
	}()
	if err := session.WaitWork(ctx, "stopped"); err != nil {
		err = context.Cause(ctx)
		_ = command.Process.Signal(syscall.SIGTERM)
		r.o.Log.Debug("the worker was ended", zap.Error(<-exited))
		return err
	}
	_ = command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-exited:
		return err
	case <-time.After(endTime):
		_ = command.Process.Kill()
		return errors.Join(errors.New("the worker did not end"), <-exited)
	}
}

// list is what a store holds.
func list(ctx context.Context, from store.Reader) ([]store.Memory, error) {
	var all []store.Memory
	for query := (store.ListQuery{}); ; {
		page, err := from.List(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Memories...)
		if page.Next == "" {
			return all, nil
		}
		query.Page = page.Next
	}
}
