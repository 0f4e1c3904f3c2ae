// Package attach puts a session together: for each store the replica, the
// passes and the mount, up all or none, and down again so that nothing that was
// written is lost. It is what stands behind package memfs, the front door.
//
// It alone knows both package fs and package reconcile, which do not know each
// other.
package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/replica"
)

// DetachTimeout bounds the end of a session: final pass, unmount and a last
// push together (R15).
const DetachTimeout = 30 * time.Second

// maxSends bounds the changing requests of all stores of a session together;
// each has its own bound besides.
const maxSends = 64

// Options are common to all stores of a session. The zero value but for
// StateDir is usable.
type Options struct {
	// StateDir keeps journals, contents and losing texts: a directory of this
	// user on a disk that outlives the process.
	StateDir string
	// Endpoint tells one API from another in the state directory.
	Endpoint string
	// Session keeps the state of sessions apart; "" goes by mount path.
	Session string
	// Sync says how changes travel.
	Sync reconcile.Options
	// Strict mounts read-only stores so that nobody can write (R10).
	Strict bool
	// MaxMemories is the store's cap; 0 is store.DefaultMaxMemories.
	MaxMemories int
	// AllowOther lets other users of the host in, as far as modes do.
	AllowOther bool
	// Owner owns what stores bring; nil is the user and group of this process.
	// Other users than this process's need AllowOther to get in.
	Owner *Owner
	// FileMode and DirMode are the permission bits of what stores bring; 0 is
	// 0600 and 0700.
	FileMode, DirMode uint32
	// AcceptEmptyDir mounts on empty directories that exist already, and
	// leaves them there at the end (R1).
	AcceptEmptyDir bool
	// KeepCache leaves contents in the state directory at the end, for a
	// faster next attach.
	KeepCache bool
	// Observe hears of each file operation once it is answered; see
	// fs.Options. nil costs nothing.
	Observe func(fs.Operation)
	// Log gets one line an event; nil logs nothing.
	Log *zap.Logger
}

// Owner is a user and a group.
type Owner struct{ UID, GID uint32 }

// Store is one store to attach.
type Store struct {
	// Client attaches for reading and writing, Reader read-only. Exactly one
	// is set.
	Client store.Client
	Reader store.Reader
	// Info describes the store; ID is required.
	Info store.Info
	// Path is where to mount, absolute and clean.
	Path string
}

// StoreError says which store an attach, a sync or the end of a session failed
// for.
type StoreError struct {
	// Store is its id, Path where it is, or was to be, mounted.
	Store, Path string
	Err         error
}

// Error implements error.
func (e *StoreError) Error() string { return "store " + e.Store + ": " + e.Err.Error() }

// Unwrap is why.
func (e *StoreError) Unwrap() error { return e.Err }

// Session is a set of attached stores.
type Session struct {
	o        Options
	attached []*attached
	done     chan struct{}
	detach   sync.Once
	result   Result
	err      error

	// What goes on beside the mounts until the end.
	beside sync.WaitGroup
	cancel context.CancelFunc
}

// Attach mounts stores, all or none. When it returns the mounts can be used;
// contents are fetched as they are read. The session lasts until Detach, or
// until somebody unmounts one of its mounts (Done).
func Attach(ctx context.Context, o Options, stores []Store) (*Session, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if err := check(o, stores); err != nil {
		return nil, err
	}
	if o.Sync.Slots == nil {
		o.Sync.Slots = semaphore.NewWeighted(maxSends)
	}
	warnVolatile(o)
	s := &Session{o: o, done: make(chan struct{}), attached: make([]*attached, len(stores))}
	group, groupCtx := errgroup.WithContext(ctx)
	for i, st := range stores {
		group.Go(func() error {
			a, err := attach(groupCtx, o, st)
			if err != nil {
				return &StoreError{st.Info.ID, st.Path, err}
			}
			s.attached[i] = a
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		err = context.Cause(ctx) // told to end when all but everything was done
	}
	if err != nil {
		s.takeBack()
		return nil, err
	}
	for _, a := range s.attached {
		a.start()
	}
	// Listing large stores leaves garbage several times the size of what stays,
	// and a mount may then be idle for hours.
	go debug.FreeOSMemory()
	go s.watch()
	besideCtx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.beside.Go(func() { s.orphans(besideCtx) })
	s.beside.Go(func() { s.expire(besideCtx) })
	return s, nil
}

// check applies the rules that need no look at what stands at the paths.
func check(o Options, stores []Store) error {
	if len(stores) == 0 {
		return errors.New("no store to attach")
	}
	taken := make(map[string]string)
	for _, st := range stores {
		if (st.Client == nil) == (st.Reader == nil) {
			return &StoreError{st.Info.ID, st.Path, errors.New("exactly one of Client and Reader is needed")}
		}
		if !filepath.IsAbs(st.Path) || filepath.Clean(st.Path) != st.Path {
			return &StoreError{st.Info.ID, st.Path, fmt.Errorf("mount path %q is not a clean absolute path", st.Path)}
		}
		if other, ok := taken[st.Path]; ok {
			return fmt.Errorf("stores %s and %s have the same mount path %s; give one of them another, STORE:PATH", other, st.Info.ID, st.Path)
		}
		taken[st.Path] = st.Info.ID
	}
	paths := slices.Sorted(maps.Keys(taken))
	if err := mountpoint.CheckNested(paths); err != nil {
		return err
	}
	return mountpoint.CheckStateDir(o.StateDir, paths)
}

// watch ends Done's wait when any of the mounts is gone.
func (s *Session) watch() {
	gone := make(chan struct{}, len(s.attached))
	for _, a := range s.attached {
		go func() {
			<-a.mount.Done()
			gone <- struct{}{}
		}()
	}
	<-gone
	close(s.done)
}

// Done is closed when one of the session's mounts is gone, whoever unmounted
// it: the session is to be detached then (R15).
func (s *Session) Done() <-chan struct{} { return s.done }

// takeBack undoes a half-made attach.
func (s *Session) takeBack() {
	for _, a := range s.attached {
		if a != nil {
			a.takeBack()
		}
	}
}

// SyncOptions are for an explicit sync.
type SyncOptions struct {
	// AllowDeletes sends what the mass-delete guard holds (R8).
	AllowDeletes bool
	// Paths limits the sync to the stores mounted at or above them; none is
	// all stores.
	Paths []string
}

// Sync runs a pass on each store that begins after the call, sends everything,
// and waits for it.
func (s *Session) Sync(ctx context.Context, o SyncOptions) ([]reconcile.Report, error) {
	chosen, err := s.chosen(o.Paths)
	if err != nil {
		return nil, err
	}
	reports := make([]reconcile.Report, len(chosen))
	errs := make([]error, len(chosen))
	var wait sync.WaitGroup
	for i, a := range chosen {
		wait.Go(func() {
			reports[i], errs[i] = a.rec.Sync(ctx, o.AllowDeletes)
			if errs[i] == nil {
				errs[i] = a.mount.Settle(ctx) // what came in can be seen
			}
			if errs[i] != nil {
				errs[i] = &StoreError{a.store.Info.ID, a.store.Path, errs[i]}
			}
		})
	}
	wait.Wait()
	return reports, errors.Join(errs...)
}

func (s *Session) chosen(paths []string) ([]*attached, error) {
	if len(paths) == 0 {
		return s.attached, nil
	}
	var out []*attached
	for _, path := range paths {
		found := false
		for _, a := range s.attached {
			if mountpoint.Inside(path, a.mount.Path()) || mountpoint.Inside(path, a.store.Path) {
				out, found = append(out, a), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s is not in a store of this session", path)
		}
	}
	return out, nil
}

// Roots are the mount points, for tools that confine themselves; the second
// list is those that must not be written to (R10).
func (s *Session) Roots() (all, readOnly []string) {
	for _, a := range s.attached {
		all = append(all, a.mount.Path())
		if a.store.Reader != nil {
			readOnly = append(readOnly, a.mount.Path())
		}
	}
	return all, readOnly
}

// Result says how a session ended.
type Result struct {
	// Unsent are the paths whose edits stay in the journal, by mount path.
	Unsent map[string][]string
	// Refused and Held count those of them that no later pass sends by itself:
	// the store can never take them, or something holds them back.
	Refused, Held int
	// HeldDeletes counts deletes that were not sent by choice.
	HeldDeletes int
}

// Detach runs the final pass, unmounts, sends what arrived in between, and
// removes what Attach made, within DetachTimeout or ctx (R15). What could not
// be sent stays in the journal and is named in the result. Later calls wait
// for the first and return the same.
func (s *Session) Detach(ctx context.Context) (Result, error) {
	s.detach.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, DetachTimeout)
		defer cancel()
		for _, a := range s.attached {
			a.announceEnd()
		}
		s.cancel()
		s.beside.Wait()
		s.result.Unsent = make(map[string][]string)
		var wait sync.WaitGroup
		var mu sync.Mutex
		for _, a := range s.attached {
			wait.Go(func() {
				end, err := a.detach(ctx)
				mu.Lock()
				defer mu.Unlock()
				if len(end.unsent) > 0 {
					s.result.Unsent[a.store.Path] = end.unsent
				}
				s.result.Refused += end.report.Refused
				s.result.Held += end.report.Held
				s.result.HeldDeletes += end.report.HeldDeletes
				if err != nil {
					s.err = errors.Join(s.err, &StoreError{a.store.Info.ID, a.store.Path, err})
				}
			})
		}
		wait.Wait()
	})
	return s.result, s.err
}

// attached is one store of a session.
type attached struct {
	o       Options
	store   Store
	log     *zap.Logger
	replica *replica.Replica
	rec     *reconcile.Reconciler
	point   *mountpoint.Point
	mount   *fs.Mounted
	panics  atomic.Int64
	slowest fs.Slowest
	running sync.WaitGroup
	stop    context.CancelFunc // ends the passes; nil while there are none
}

// attach brings up one store: its replica as the journal left it, what changed
// in the store since, and the mount.
func attach(ctx context.Context, o Options, st Store) (_ *attached, err error) {
	a := &attached{o: o, store: st, log: o.Log.With(zap.String("store", st.Info.ID), zap.String("path", st.Path))}
	defer func() {
		if err != nil {
			a.takeBack()
		}
	}()
	var remote store.Reader = st.Client
	if st.Client == nil {
		remote = st.Reader
	}
	uid, gid := o.owner()
	a.replica, err = openReplica(ctx, a.log, replica.Options{
		Dir: o.StateDir, Store: st.Info, Endpoint: o.Endpoint, MountPath: st.Path, Session: o.Session, ReadOnly: st.Client == nil,
		MaxMemories: o.MaxMemories, Fetch: reconcile.Fetcher(remote), Missing: func(string) { a.rec.Nudge() },
		Log: o.Log, UID: uid, GID: gid, FileMode: o.FileMode, DirMode: o.DirMode,
	})
	if err != nil {
		return nil, err
	}
	options := o.Sync
	options.MaxMemories, options.Log = o.MaxMemories, o.Log
	a.rec = reconcile.New(a.replica, remote, options)
	if err := a.rec.Attach(ctx); err != nil {
		return nil, err
	}
	return a, a.show()
}

func (o *Options) owner() (uid, gid uint32) {
	if o.Owner != nil {
		return o.Owner.UID, o.Owner.GID
	}
	return replica.Owner()
}

// show mounts the replica, in place of what a dead process left (R1).
func (a *attached) show() (err error) {
	if fs.Stale(a.store.Path) {
		a.log.Info("cleaning up the dead mount of an earlier process", zap.String("code", "stale_mount"))
		if err := fs.Detach(a.store.Path); err != nil {
			return err
		}
	}
	if a.point, err = mountpoint.Take(a.o.StateDir, a.store.Path, a.o.AcceptEmptyDir); err != nil {
		return err
	}
	a.mount, err = fs.Mount(fs.Options{Replica: a.replica, Path: a.store.Path, StoreID: a.store.Info.ID, AllowOther: a.o.AllowOther,
		Strict: a.o.Strict && a.store.Client == nil, Log: a.o.Log, Status: a.attribute, Observe: a.observe,
		OnPanic: func(any) { a.panics.Add(1) }})
	return err
}

// start begins the passes.
func (a *attached) start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = cancel
	a.running.Go(func() { a.rec.Run(ctx) })
}

func (a *attached) end() {
	if a.stop != nil {
		a.stop()
	}
	a.running.Wait()
}
