package journal

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"memfs/store/replica/disk"
)

// Options are a journal's settings. The zero value is usable.
type Options struct {
	// SyncAfter is when an append is synced to disk at the latest, without
	// anybody asking; 0 is one second (R3).
	SyncAfter time.Duration
	// BeforeSync runs before every sync of the file, to make durable what its
	// records build on. If it fails, so does the sync, and the next one tries
	// again. It must not take a lock that is held around Append.
	BeforeSync func() error
	// OnError hears of syncs that failed and that nobody waited for. It must
	// not call Close.
	OnError func(error)
}

// Journal is an open journal. It is safe for concurrent use.
//
// Lock order: syncing, then mu.
type Journal struct {
	dir    *disk.Dir
	name   string
	header Header
	opts   Options

	// syncing is held by whoever syncs the file or changes it for another.
	syncing sync.Mutex

	mu  sync.Mutex
	log log
	// appended and synced count records; they differ while some are not on
	// the disk for certain.
	appended, synced uint64
	broken           error
	closed           bool
	// waiting is the sync that has not begun and that callers can still join.
	waiting       *round
	checkpointing bool
	timer         *time.Timer // nil while nothing waits to be synced
	looked        time.Time   // when an append last saw that the file has its name
	background    sync.WaitGroup
	stats         Stats
}

// Stats says what a journal has done and how large it is.
type Stats struct {
	// Records were appended since it was created or opened; Syncs is how many
	// times the file was synced, and Checkpoints how many committed.
	Records     uint64
	Syncs       uint64
	Checkpoints uint64
	// Size is the bytes in use and Space the bytes taken on disk.
	Size  int64
	Space int64
	// Broken is set while every Append and Sync fails with ErrBroken.
	Broken bool
}

// Create makes a journal that begins with the snapshot's payloads. It takes
// the place of a journal of that name as one step, durable when Create
// returns. The directory must stay open.
func Create(dir *disk.Dir, name string, h Header, snapshot iter.Seq[[]byte], o Options) (*Journal, error) {
	if o.SyncAfter == 0 {
		o.SyncAfter = time.Second
	}
	w, err := newWriter(dir, name, h)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	if err = w.addAll(snapshot); err == nil && o.BeforeSync != nil {
		err = o.BeforeSync()
	}
	if err == nil {
		err = w.sync(labelNew)
	}
	if err == nil {
		err = w.rename()
	}
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", errors.Join(err, w.discard()))
	}
	if err := dir.Sync(labelDirSync); err != nil {
		return nil, fmt.Errorf("create journal: %w", errors.Join(err, w.log.f.Close()))
	}
	return &Journal{dir: dir, name: name, header: h, opts: o, log: w.log}, nil
}

// Append adds one payload. When it returns, the payload survives the end of
// the process; it survives power loss after the next Sync, or on its own
// after Options.SyncAfter. With small it may use the reserve of a full disk.
//
// Errors: ErrNoSpace, ErrBroken, ErrTooLarge, ErrClosed, or the disk's;
// nothing was appended then.
func (j *Journal) Append(payload []byte, small bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	if err := j.lookLinked(); err != nil {
		return err
	}
	if err := j.log.append(payload, small); err != nil {
		if errors.Is(err, ErrBroken) {
			j.broken = err
		}
		return fmt.Errorf("append to journal: %w", err)
	}
	j.appended++
	j.stats.Records++
	j.arm()
	return nil
}

// usable needs mu.
func (j *Journal) usable() error {
	if j.closed {
		return ErrClosed
	}
	return j.broken
}

// Size is how many bytes of the file are in use; a checkpoint brings it down.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.log.end
}

// Stats returns the present figures.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.stats
	s.Size, s.Space, s.Broken = j.log.end, j.log.space, j.broken != nil
	return s
}

// Close syncs what was appended and gives the file back. It is an error to
// close a journal that is broken.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.disarm()
	j.mu.Unlock()
	j.background.Wait()

	j.syncing.Lock()
	defer j.syncing.Unlock()
	return errors.Join(j.syncFile(), j.log.f.Close())
}
