package attach

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"memfs/reconcile"
	"memfs/store"
	"memfs/store/replica"
)

// RecoverOptions say how what is left of an earlier session is sent.
type RecoverOptions struct {
	// Sync says how changes travel.
	Sync reconcile.Options
	// AllowDeletes sends what the mass-delete guard would hold (R8).
	AllowDeletes bool
	// RestoreMarker puts the marker right first (R13).
	RestoreMarker bool
	// Log gets one line an event; nil logs nothing.
	Log *zap.Logger
}

// Recovered says what became of it.
type Recovered struct {
	reconcile.Report
	// Settled: everything has its place in the store, and the leftover is gone.
	Settled bool
	// Left is what was not sent. Where Settled is set these are deletes that
	// were held or are not sent by choice, and that went with the leftover.
	Left replica.Unsent
}

// Recover sends what an earlier session left: the replica is opened without a
// mount, and gets one pass (R16). It is replica.ErrInUse while a process has
// the replica open, and ErrReadOnly where the changes were made
// without the right to send them.
func Recover(ctx context.Context, l replica.Leftover, client store.Client, o RecoverOptions) (result Recovered, err error) {
	if l.ReadOnly {
		return Recovered{}, ErrReadOnly
	}
	options := l.Options()
	options.MaxMemories, options.Fetch, options.Log = o.Sync.MaxMemories, reconcile.Fetcher(client), o.Log
	r, err := replica.Open(options)
	if err != nil {
		return Recovered{}, err
	}
	defer func() {
		end := r.Close
		if result.Settled {
			end = r.Remove
		}
		err = errors.Join(err, end())
	}()
	if err := r.Ending(); err != nil { // who wants this state waits for it
		return Recovered{}, err
	}
	if o.RestoreMarker {
		if err := r.RestoreMarker(); err != nil {
			return Recovered{}, err
		}
	}
	sync := o.Sync
	sync.Log, sync.NoHydrate = o.Log, true
	result.Report, err = reconcile.Headless(ctx, r, client, sync, o.AllowDeletes)
	result.Left = r.Unsent()
	result.Settled = err == nil && !result.MarkerBad && len(result.Left.Edits) == 0 &&
		len(result.Left.Deletes) <= result.HeldDeletes+result.SuppressedDeletes
	return result, err
}

// ErrReadOnly: the changes were made under read-only access.
var ErrReadOnly = errors.New("changed under read-only access, so never sent")
