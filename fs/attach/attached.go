package attach

import (
	"context"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/replica"
)

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

// show mounts the replica, in place of what a dead process left (R1).
func (a *attached) show() (err error) {
	if fs.Stale(a.store.Path) {
		a.log.Info("cleaning up the dead mount of an earlier process", zap.String("code", "stale_mount"))
		if err := mountpoint.Clear(a.o.StateDir, a.store.Path); err != nil {
			return err
		}
	}
	if a.point, err = mountpoint.Take(a.o.StateDir, a.store.Path, a.o.AcceptEmptyDir); err != nil {
		return err
	}
	if below := a.point.Below(); len(below) > 0 {
		a.log.Warn("files were written at the mount path while nothing was mounted; they stay below the mount, and are not in the store",
			zap.String("code", "below_mount"), zap.Int("count", len(below)), zap.Strings("names", below[:min(len(below), maxPaths)]),
			zap.String("remedy", "look at them in the directory after memfs unmount, and move or remove them"))
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
