package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"memfs/store"
	"memfs/store/replica/conflicts"
	"memfs/store/replica/journal"
	"memfs/store/replica/objects"
)

// Replica is one store's working copy. Its methods may be called from any
// goroutine.
//
// Lock order: ckpt before mu. No file or network wait happens under mu but the
// append of a record to the journal, which goes to the page cache.
type Replica struct {
	o Options

	mu       sync.RWMutex
	tree     *tree
	closed   bool
	ending   bool // see Ending
	watchers []func([]Change)
	payload  []byte                  // of the last commit, for the next
	brought  map[store.SHA]time.Time // contents whose file is to come, see PutContent

	// notify keeps the changes told to watchers in the order they were made.
	notify sync.Mutex

	place   *place
	journal *journal.Journal
	objects *objects.Store
	area    *conflicts.Area

	ctx    context.Context // ends with the replica; bounds fetches
	cancel context.CancelFunc

	ckpt       sync.Mutex
	compaction compaction
	running    sync.WaitGroup
	awaited    awaited // mu guards it
	fetches    singleflight.Group
	failed     failures
}

// Watch makes f hear of every remote change to the tree, in order, with no
// lock held. It is meant for the one layer that tells the kernel.
func (r *Replica) Watch(f func([]Change)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, f)
}

// Store describes the store whose working copy this is.
func (r *Replica) Store() store.Info { return r.o.Store }

// ReadOnly reports whether local changes are never sent (R10).
func (r *Replica) ReadOnly() bool { return r.o.ReadOnly }

// MountPath is where the replica is shown.
func (r *Replica) MountPath() string { return r.o.MountPath }

// Conflicts is the store's conflict area.
func (r *Replica) Conflicts() *conflicts.Area { return r.area }

// maxPayloadKept is the largest buffer that a commit leaves for the next.
const maxPayloadKept = 256 << 10

// bytesOfRecord is about what a record takes in a payload, where a set has many.
const bytesOfRecord = 128

// commit writes records to the journal as one frame and applies them. It is
// the only way by which the state changes. Small frames may use the space
// reserved for a full disk. r.mu is held.
func (r *Replica) commit(small bool, records ...record) error {
	if r.closed {
		return ErrClosed
	}
	payload := appendRecords(slices.Grow(r.payload[:0], bytesOfRecord*len(records)), records)
	if cap(payload) <= maxPayloadKept {
		r.payload = payload
	}
	if err := r.journal.Append(payload, small); err != nil {
		switch {
		case errors.Is(err, journal.ErrBroken):
			r.running.Go(r.heal)
		case errors.Is(err, journal.ErrNoSpace):
			r.compactFull()
		}
		return journalError(err)
	}
	r.compactGrown()
	for i := range records {
		if err := r.tree.apply(&records[i]); err != nil {
			// The call was checked before: this is a fault of this package.
			panic(fmt.Sprintf("replica: a checked record does not apply: %v", err))
		}
	}
	return nil
}

func journalError(err error) error {
	switch {
	case errors.Is(err, journal.ErrNoSpace):
		return fmt.Errorf("%w (%w)", ErrNoSpace, err)
	default:
		return fmt.Errorf("%w (%w)", ErrBroken, err)
	}
}

// now is the clock in the journal's form.
func (r *Replica) now() uint64 { return uint64(r.o.Now().UnixNano()) }

// node finds a node by number. r.mu is held.
func (r *Replica) node(ino Ino) (*node, error) {
	if n := r.tree.nodes[ino]; n != nil {
		return n, nil
	}
	return nil, ErrStale
}

// directory finds a directory that has a name. r.mu is held.
func (r *Replica) directory(ino Ino) (*node, error) {
	n, err := r.node(ino)
	switch {
	case err != nil:
		return nil, err
	case !n.dir:
		return nil, ErrNotDir
	case !n.linked():
		return nil, ErrNotExist
	}
	return n, nil
}
