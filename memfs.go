// Package memfs attaches Claude memory stores to directories of this host: it
// mounts each store as a filesystem, carries changes both ways on the sync
// interval, and takes everything down again without losing what was written.
//
// Attach is the front door:
//
//	session, err := memfs.Attach(ctx, memfs.Options{StateDir: dir}, []memfs.Store{
//		{Client: api.Store(id), Info: info, Path: "/mnt/memory/notes"},
//	})
//	...
//	result, err := session.Detach(ctx)
//
// The layers below it are package fs (the kernel's requests; fs/attach puts a
// session together), reconcile (what goes to the store and what comes from it),
// guard (what tools may do) and store/replica (the working copy and its
// journal).
package memfs

import (
	"context"

	"memfs/fs/attach"
	"memfs/store"
	"memfs/store/replica"
)

// DetachTimeout bounds the end of a session: final pass, unmount and a last
// push together (R15).
const DetachTimeout = attach.DetachTimeout

// ErrReadOnly: changes were made under read-only access and are never sent.
var ErrReadOnly = attach.ErrReadOnly

type (
	// Options are common to all stores of a session.
	Options = attach.Options
	// Owner is a user and a group.
	Owner = attach.Owner
	// Store is one store to attach.
	Store = attach.Store
	// StoreError says which store an attach, a sync or the end of a session
	// failed for.
	StoreError = attach.StoreError
	// Session is a set of attached stores.
	Session = attach.Session
	// SyncOptions are for an explicit sync.
	SyncOptions = attach.SyncOptions
	// Status is the state of one attached store.
	Status = attach.Status
	// Result says how a session ended.
	Result = attach.Result
	// RecoverOptions say how what is left of an earlier session is sent.
	RecoverOptions = attach.RecoverOptions
	// Recovered says what became of it.
	Recovered = attach.Recovered
)

// Attach mounts stores, all or none. When it returns the mounts can be used;
// contents are fetched as they are read. The session lasts until Detach, or
// until somebody unmounts one of its mounts (Session.Done).
func Attach(ctx context.Context, o Options, stores []Store) (*Session, error) {
	return attach.Attach(ctx, o, stores)
}

// Recover sends what an earlier session left, without a mount (R16). It is
// replica.ErrInUse while a process has the leftover open, and ErrReadOnly where
// the changes were made without the right to send them.
func Recover(ctx context.Context, l replica.Leftover, client store.Client, o RecoverOptions) (Recovered, error) {
	return attach.Recover(ctx, l, client, o)
}
