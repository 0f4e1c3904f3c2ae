package attach

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"memfs/fs"
	"memfs/reconcile"
)

const (
	// busyPatience is how long a busy mount is tried before it is detached lazily.
	busyPatience = 2 * time.Second
	// lastPush is what is kept of the bound for the last push where a mount stays
	// busy to its end.
	lastPush = 5 * time.Second
)

// ending is how one store ended.
type ending struct {
	unsent []string
	report reconcile.Report // of the last pass
}

// announceEnd tells a process that finds the state in use to wait for it (R16).
func (a *attached) announceEnd() {
	if err := a.replica.Ending(); err != nil {
		a.log.Debug("the end could not be announced", zap.Error(err))
	}
}

// detach ends one store; see Session.Detach. The state is given up last: who
// waits for it finds the path free.
func (a *attached) detach(ctx context.Context) (ending, error) {
	a.end()
	if a.replica.ReadOnly() {
		return ending{}, errors.Join(a.unmount(ctx), a.point.Remove(), a.leave(false))
	}
	report, err := a.rec.Sync(ctx, false)
	unmountErr := a.unmount(ctx)
	if err != nil || a.replica.Unsent().Any() {
		// Once more, for what came in between; its outcome is the one that counts.
		if report, err = a.rec.Final(ctx); err != nil {
			a.log.Warn("final memory sync failed", zap.String("code", "final_failed"), zap.Error(err))
		}
	}
	e := ending{unsent: a.unsent(report, err), report: report}
	return e, errors.Join(unmountErr, a.point.Remove(), a.leave(len(e.unsent) > 0))
}

// unsent are the paths whose edits stay in the journal. The replica has the
// last word: nothing goes that differs from what the store is known to have,
// but deletes that are not sent by choice (R8).
func (a *attached) unsent(report reconcile.Report, err error) []string {
	here := a.replica.Unsent()
	paths := append(slices.Clone(report.Unsent), here.Edits...)
	unknown := err != nil || report.MarkerBad
	if a.o.Sync.Deletions == reconcile.DeletionsEnabled && (unknown || len(here.Deletes) > report.HeldDeletes) {
		paths = append(paths, here.Deletes...)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > len(report.Unsent) {
		a.log.Warn("final memory sync left changes in the journal", zap.String("code", "unsent"), zap.Strings("paths", paths),
			zap.Bool("marker_bad", report.MarkerBad),
			zap.String("remedy", remedy(report)))
	}
	return paths
}

func remedy(report reconcile.Report) string {
	if report.Refused+report.Held > 0 {
		return "what is refused or held waits until it is changed, or what holds it is mended; the next attach of this store on this host sends the rest"
	}
	return "the next attach of this store on this host sends them; so does memfs recover push"
}

// unmount frees the path. A busy mount is served until its last close, or lastPush
// before the end of ctx, and in the last push too.
func (a *attached) unmount(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, busyPatience)
	defer cancel()
	err := a.mount.Unmount(patience)
	var busy *fs.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	a.log.Warn("the mount is busy; it is detached and served until its last user is gone",
		zap.String("code", "mount_busy"), zap.Stringers("holders", busy.Holders))
	served, stop := ctx, func() {}
	if bound, ok := ctx.Deadline(); ok {
		served, stop = context.WithDeadline(ctx, bound.Add(-lastPush))
	}
	defer stop()
	select {
	case <-a.mount.Done():
	case <-served.Done():
	}
	return nil
}

// takeBack undoes what attach did, as far as it came. Unsent edits of an
// earlier process stay in the journal.
func (a *attached) takeBack() {
	var errs []error
	if a.replica != nil {
		a.announceEnd()
	}
	if a.mount != nil {
		ctx, cancel := context.WithTimeout(context.Background(), busyPatience)
		defer cancel()
		errs = append(errs, a.mount.Unmount(ctx))
	}
	if a.point != nil {
		errs = append(errs, a.point.Remove())
	}
	if a.replica != nil {
		errs = append(errs, a.leave(a.replica.Unsent().Any()))
	}
	if err := errors.Join(errs...); err != nil {
		a.log.Warn("not everything of a failed attach could be taken back", zap.String("code", "attach_left"), zap.Error(err))
	}
}

// leave ends the replica. Its state stays on this host only where edits were
// not sent, or where it is asked for (R15, R19); and after a crash for as long as
// what the killed process sent may still arrive, so that the next attach knows
// it for our own (R16).
func (a *attached) leave(unsent bool) error {
	switch {
	case unsent || a.replica.Awaiting():
		return a.replica.Close()
	case a.o.KeepCache:
		return a.replica.Keep()
	default:
		return a.replica.Remove()
	}
}
