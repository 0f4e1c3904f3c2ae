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
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"memfs/fs/mountpoint"
	"memfs/reconcile"
)

// DetachTimeout bounds the end of a session: final pass, unmount and a last
// push together (R15).
const DetachTimeout = 30 * time.Second

// maxSends bounds the changing requests of all stores of a session together;
// each has its own bound besides.
const maxSends = 64

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

// watch ends Done's wait when any of the mounts is gone from its place: what is
// written there lands elsewhere, also while others still use the mount.
func (s *Session) watch() {
	gone := make(chan struct{}, len(s.attached))
	for _, a := range s.attached {
		go func() {
			<-a.mount.Detached()
			gone <- struct{}{}
		}()
	}
	<-gone
	close(s.done)
}

// Done is closed when one of the session's mounts is gone, whoever unmounted
// it, and also where somebody still uses it: the session is to be detached then
// (R15).
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

// ErrUnmounted: the path does not lead to the store any more.
var ErrUnmounted = errors.New("it was unmounted: what is written at its path since then is not in the store")

// Sync runs a pass on each store that begins after the call, sends everything,
// and waits for it. It is ErrUnmounted where a mount is gone that somebody still
// uses, though what they wrote is sent.
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
			if errs[i] == nil && a.unmounted() {
				errs[i] = ErrUnmounted
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
