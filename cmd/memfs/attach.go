package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"memfs"
	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/metrics"
	"memfs/cmd/memfs/internal/process"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/cmd/memfs/internal/volume"
	"memfs/fs/mountpoint"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/replica/disk"
)

// errStopped ends an attach that a signal came into.
var errStopped = errors.New("stopped before the mounts were ready; nothing is left mounted")

// hold mounts what specs name and calls while, which ends the mounts, with who
// watches over them.
func (a *app) hold(ctx context.Context, s settings, specs []volume.Spec, while func(*supervise.Supervisor, <-chan os.Signal) error) error {
	signals, stop := process.Signals()
	defer stop()
	if err := s.observation.begin(ctx, a.log); err != nil {
		return err
	}
	defer a.close(s.observation.end)
	session, closing, err := a.attach(ctx, s, specs, signals)
	if err != nil {
		return err
	}
	defer closing()
	s.observation.watch(session.Session)
	supervisor := supervise.New(session, version, a.log)
	defer a.close(supervisor.Listen(control.Directory(os.Getenv, os.Geteuid())))
	return while(supervisor, signals)
}

// attach mounts what specs name. A signal takes it all back. The session's
// Detach is to be called, and after it closing.
func (a *app) attach(ctx context.Context, s settings, specs []volume.Spec, signals <-chan os.Signal) (_ *session, closing func(), err error) {
	ctx, stopped := interruptible(ctx, signals)
	defer stopped()
	b, closing, err := a.openWrapped(s.observation.transport())
	if err != nil {
		return nil, nil, err
	}
	attached, err := a.attachTo(ctx, b, s, specs)
	if err != nil {
		closing()
		if stopped() {
			err = errStopped
		}
		return nil, nil, err
	}
	mounted := &session{Session: attached, metrics: s.observation.metrics, log: a.log}
	if stopped() { // just as the mounts came up
		err := mounted.Detach(context.WithoutCancel(ctx))
		closing()
		return nil, nil, errors.Join(errStopped, err)
	}
	mounted.say("mounted")
	return mounted, closing, nil
}

// interruptible ends ctx at a signal, until stopped is called, which says whether
// one came: none is lost between here and who waits for signals next.
func interruptible(parent context.Context, signals <-chan os.Signal) (ctx context.Context, stopped func() bool) {
	ctx, cancel := context.WithCancelCause(parent)
	over, done := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-signals:
			cancel(errStopped)
			done <- true
		case <-over:
			cancel(nil)
			done <- false
		}
	}()
	return ctx, sync.OnceValue(func() bool {
		close(over)
		return <-done
	})
}

func (a *app) attachTo(ctx context.Context, b *backend.Backend, s settings, specs []volume.Spec) (*memfs.Session, error) {
	if s.session != "" {
		var err error
		if specs, err = ofSession(ctx, b, s.session); err != nil {
			return nil, err
		}
	}
	infos, err := find(ctx, b, specs)
	if err != nil {
		return nil, err
	}
	paths, err := volume.Place(s.root, specs, infos)
	if err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	state, err := s.stateDirectory()
	if err != nil {
		return nil, err
	}
	stores := make([]memfs.Store, len(specs))
	for i, spec := range specs {
		stores[i] = memfs.Store{Info: infos[i], Path: paths[i]}
		if spec.ReadOnly {
			stores[i].Reader = b.Reader(infos[i].ID)
		} else {
			stores[i].Client = b.Store(infos[i].ID)
		}
	}
	session, err := memfs.Attach(ctx, s.options(state, b.Endpoint, a.log), stores)
	return session, inUse(err)
}

// inUse names the process that has the state of a store.
func inUse(err error) error {
	var locked *disk.LockedError
	if !errors.As(err, &locked) || locked.PID == 0 {
		return err
	}
	return exitcode.Errorf(exitcode.Busy, "memfs process %d has this store attached at this path, or in this session: memfs unmount it first, or choose another path or --state-dir", locked.PID)
}

// ofSession are the stores that a session has attached, where its agent looks
// for them.
func ofSession(ctx context.Context, b *backend.Backend, id string) ([]volume.Spec, error) {
	attachments, err := b.SessionStores(ctx, id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrInvalid) {
		return nil, exitcode.With(exitcode.Usage, fmt.Errorf("%w: give --session the id that the session was made with (session_...), and a key that may see it", err))
	}
	if err != nil {
		return nil, err
	}
	if len(attachments) == 0 {
		return nil, exitcode.Errorf(exitcode.Usage, "session %s has no memory stores attached", id)
	}
	specs := make([]volume.Spec, len(attachments))
	for i, a := range attachments {
		specs[i] = volume.Spec{Store: a.StoreID, Path: a.MountPath, ReadOnly: a.ReadOnly}
	}
	return specs, nil
}

// find asks the API what specs name, all at the same time.
func find(ctx context.Context, b *backend.Backend, specs []volume.Spec) ([]store.Info, error) {
	infos := make([]store.Info, len(specs))
	group, ctx := errgroup.WithContext(ctx)
	for i, spec := range specs {
		group.Go(func() (err error) {
			infos[i], err = store.Patiently(ctx, func(ctx context.Context) (store.Info, error) { return b.Find(ctx, spec.Store) })
			return err
		})
	}
	return infos, group.Wait()
}

// session makes a memfs.Session what is supervised.
type session struct {
	*memfs.Session
	// id is the API's session, "" for none; metrics are nil where nobody wants
	// them.
	id      string
	metrics *metrics.Metrics
	log     *zap.Logger
}

// say logs one event for every mount.
func (s *session) say(event string) {
	for _, status := range s.Status() {
		s.log.Info(event, zap.String("code", event), zap.String("store", status.StoreID), zap.String("path", status.MountPath), zap.Bool("read_only", status.ReadOnly))
	}
}

// Mounts implements supervise.Session.
func (s *session) Mounts() []control.Mount {
	paths, _ := s.Roots()
	mounts := make([]control.Mount, len(paths))
	for i, status := range s.Status() {
		text, err := json.Marshal(status)
		if err != nil {
			s.log.Error("the status cannot be told", zap.String("code", "status"), zap.String("path", paths[i]), zap.Error(err))
		}
		mounts[i] = control.Mount{Path: paths[i], Status: text}
	}
	return mounts
}

// Metrics implements supervise.Session.
func (s *session) Metrics() ([]byte, error) {
	if s.metrics == nil {
		return nil, nil
	}
	return s.metrics.Encode()
}

// SessionID implements supervise.Session.
func (s *session) SessionID() string { return s.id }

// Sync implements supervise.Session.
func (s *session) Sync(ctx context.Context, r control.SyncRequest) ([]control.Synced, error) {
	reports, err := s.Session.Sync(ctx, memfs.SyncOptions{Paths: r.Paths, AllowDeletes: r.AllowDeletes})
	mounts := s.Mounts()
	synced := make([]control.Synced, len(reports)) // as r.Paths, or all
	for i, report := range reports {
		at := i
		if len(r.Paths) > 0 {
			at = slices.IndexFunc(mounts, func(m control.Mount) bool { return mountpoint.Inside(r.Paths[i], m.Path) })
		}
		synced[i] = control.Synced{Mount: mounts[at], Report: report}
	}
	return synced, err
}

// Detach implements supervise.Session: edits that stay in the journal are an
// error of their own, with a code of its own.
func (s *session) Detach(ctx context.Context) error {
	result, err := s.Session.Detach(ctx)
	if result.HeldDeletes > 0 {
		s.log.Warn("deletes that were held back are not sent", zap.String("code", "held_deletes"), zap.Int("deletes", result.HeldDeletes))
	}
	return errors.Join(kept(result), err)
}

// kept says why edits wait in the journal.
func kept(result memfs.Result) error {
	n := 0
	for _, unsent := range result.Unsent {
		n += len(unsent)
	}
	if n == 0 {
		return nil
	}
	var why []string
	if result.Refused > 0 {
		why = append(why, fmt.Sprintf("the store refuses %d, until what the log names is changed after the next attach (memfs recover export saves it)", result.Refused))
	}
	if result.Held > 0 {
		why = append(why, fmt.Sprintf("%d held back, until what the log says of it is mended", result.Held))
	}
	switch rest := n - result.Refused - result.Held; {
	case len(why) == 0:
		why = append(why, "the next attach of the store on this host sends "+word(n, "it", "them"))
	case rest > 0:
		why = append(why, fmt.Sprintf("the next attach of the store on this host sends %d", rest))
	}
	return exitcode.Errorf(exitcode.EditsKept, "%s not sent and kept in the journal: %s", count(n, "edit was", "edits were"), strings.Join(why, "; "))
}

// deletions are the words of --sync-deletions.
var deletions = map[string]reconcile.Deletions{
	"enabled":  reconcile.DeletionsEnabled,
	"log_only": reconcile.DeletionsLogOnly,
	"disabled": reconcile.DeletionsDisabled,
}

// options are the library's for these settings.
func (s *settings) options(state, endpoint string, log *zap.Logger) memfs.Options {
	o := memfs.Options{
		StateDir: state,
		Endpoint: endpoint,
		Session:  cmp.Or(s.session, s.private),
		Sync: reconcile.Options{
			Interval:        s.interval,
			Deletions:       deletions[s.deletions],
			AllowMassDelete: s.allowMassDelete,
			MaxMemories:     s.maxMemories,
			NoHydrate:       s.hydrate == "off",
			Log:             log,
		},
		Strict:         s.readOnlyMode == "strict",
		MaxMemories:    s.maxMemories,
		AllowOther:     s.allowOther,
		AcceptEmptyDir: true,
		KeepCache:      s.keepCache,
		Observe:        s.observation.operations(log),
		Log:            log,
	}
	s.owner.apply(&o)
	return o
}
