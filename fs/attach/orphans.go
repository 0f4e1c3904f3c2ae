package attach

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/store"
	"memfs/store/replica"
)

// How long what nobody asked for stays (R19).
const (
	orphanAge = 30 * 24 * time.Hour
	cacheAge  = 7 * 24 * time.Hour
)

// orphans looks after what other sessions and mount paths left in the state
// directory: of the stores attached here it sends what was not sent, of all it
// removes what is too old (R16, R19).
func (s *Session) orphans(ctx context.Context) {
	if err := replica.Sweep(s.o.StateDir); err != nil {
		s.o.Log.Debug("what killed processes had begun could not be removed", zap.Error(err))
	}
	found, err := replica.Leftovers(s.o.StateDir)
	if err != nil {
		s.o.Log.Warn("what other sessions left cannot be looked at", zap.String("code", "orphan"), zap.Error(err))
		return
	}
	taken := s.paths(found)
	for _, l := range found {
		if ctx.Err() != nil {
			return
		}
		if l.Live {
			continue
		}
		o := orphan{Leftover: l, s: s, log: s.o.Log.With(zap.String("store", l.Store), zap.String("path", l.MountPath),
			zap.String("session", l.Session), zap.String("leftover", l.ID))}
		err := o.settle(ctx)
		switch {
		case errors.Is(err, replica.ErrInUse):
			continue // somebody else looks after it
		case err != nil && ctx.Err() == nil:
			o.log.Warn("what an earlier session left could not be settled; it stays", zap.String("code", "orphan_failed"),
				zap.Error(err), zap.String("remedy", "memfs recover list"))
		}
		if l.MountPath != "" && !slices.Contains(taken, l.MountPath) {
			o.tidy()
		}
	}
}

// paths are those that belong to a session that lives.
func (s *Session) paths(found []replica.Leftover) []string {
	var paths []string
	for _, a := range s.attached {
		paths = append(paths, a.store.Path, a.mount.Path())
	}
	for _, l := range found {
		if l.Live {
			paths = append(paths, l.MountPath)
		}
	}
	return paths
}

// orphan is a leftover that nobody has open.
type orphan struct {
	replica.Leftover
	s   *Session
	log *zap.Logger
}

// settle sends, discards or leaves alone what the leftover has.
func (o *orphan) settle(ctx context.Context) error {
	if o.Fault != nil {
		if o.Created.IsZero() || time.Since(o.Created) < orphanAge {
			return o.Fault
		}
		o.log.Warn("a journal that cannot be read is too old; it is discarded", zap.String("code", "orphan_discarded"), zap.Error(o.Fault))
		return o.Drop()
	}
	var unsent replica.Unsent
	var markerOK, awaiting bool
	err := replica.Look(o.Options(), func(r *replica.Replica) error {
		markerOK, unsent, awaiting = r.Snapshot(nil, nil).MarkerOK, r.Unsent(), r.Awaiting()
		return nil
	})
	if err != nil {
		return err
	}
	client, attached := o.client()
	switch {
	case o.Kept:
		if time.Since(o.Created) < cacheAge {
			return nil
		}
		o.log.Info("a cache is too old and goes", zap.String("code", "cache_expired"), zap.Time("since", o.Created))
		return o.Drop()
	case o.ReadOnly:
		return o.discard(unsent, "edits made under read-only access are never sent; they are discarded")
	case unsent.Any() && time.Since(unsent.Newest) > orphanAge:
		return o.discard(unsent, "edits that could not be sent are too old; they are discarded")
	case !attached:
		return nil
	case !unsent.Any():
		if awaiting {
			return nil
		}
		return o.Drop()
	case !markerOK:
		o.waits(unsent, "its marker file is missing or altered")
		return nil
	case client == nil:
		o.waits(unsent, "the store is attached read-only")
		return nil
	}
	return o.push(ctx, client)
}

// client is the store's, if the session has it; nil where it may not write.
func (o *orphan) client() (client store.Client, attached bool) {
	for _, a := range o.s.attached {
		if a.store.Info.ID != o.Store || o.s.o.Endpoint != o.Endpoint {
			continue
		}
		attached = true
		if a.store.Client != nil {
			return a.store.Client, true
		}
	}
	return nil, attached
}

func (o *orphan) discard(unsent replica.Unsent, why string) error {
	if unsent.Any() {
		o.log.Warn("an earlier session left "+why, zap.String("code", "orphan_discarded"),
			zap.Strings("edits", unsent.Edits), zap.Strings("deletes", unsent.Deletes))
	}
	return o.Drop()
}

func (o *orphan) waits(unsent replica.Unsent, why string) {
	o.log.Warn("an earlier session left edits, which wait: "+why, zap.String("code", "orphan_waits"),
		zap.Strings("edits", unsent.Edits), zap.Strings("deletes", unsent.Deletes),
		zap.String("remedy", "memfs recover push sends them, export saves them, drop discards them"))
}

// push sends what is left. Where all is settled it goes, and with it deletes
// that are held or not sent by choice.
func (o *orphan) push(ctx context.Context, client store.Client) error {
	sync := o.s.o.Sync
	sync.MaxMemories = o.s.o.MaxMemories
	got, err := Recover(ctx, o.Leftover, client, RecoverOptions{Sync: sync, Log: o.s.o.Log})
	switch {
	case err != nil || ctx.Err() != nil:
		return err
	case !got.Settled:
		o.waits(got.Left, "not all of them could be sent")
		return nil
	case len(got.Left.Deletes) > 0:
		o.log.Warn("deletes that an earlier session held back are discarded", zap.String("code", "orphan_discarded"),
			zap.Strings("deletes", got.Left.Deletes))
	}
	o.log.Info("sent what an earlier session left", zap.String("code", "orphan_sent"), zap.Int("pushed", got.Pushed),
		zap.Int("deleted", got.Deleted), zap.Int("conflicts", got.Conflicts))
	return nil
}

// tidy takes away the dead mount and the directories that the orphan's process
// left at its mount path.
func (o *orphan) tidy() {
	mounts, err := fs.Mounts()
	if err == nil && slices.ContainsFunc(mounts, func(m fs.MountInfo) bool { return m.Path == o.MountPath }) {
		if !fs.Stale(o.MountPath) {
			return
		}
		err = mountpoint.Clear(o.s.o.StateDir, o.MountPath)
	}
	var point *mountpoint.Point
	if err == nil {
		point, err = mountpoint.Take(o.s.o.StateDir, o.MountPath, false)
	}
	var taken *mountpoint.TakenError
	if errors.As(err, &taken) {
		return // somebody else's by now
	}
	if err == nil {
		err = point.Remove()
	}
	if err != nil {
		o.log.Debug("the mount path that an earlier session left could not be tidied up", zap.Error(err))
	}
}
