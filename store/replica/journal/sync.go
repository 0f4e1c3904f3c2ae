package journal

import (
	"errors"
	"fmt"
	"time"
)

// round is one sync that any number of callers wait for.
type round struct {
	done chan struct{}
	err  error
}

// Sync makes durable every append that has returned. Callers who come while a
// sync runs share the next one. A sync that failed is never tried again on
// the same file, since the system may have dropped what it could not write:
// ErrBroken from then on.
func (j *Journal) Sync() error {
	j.mu.Lock()
	if err := j.usable(); err != nil || j.synced == j.appended {
		j.mu.Unlock()
		return err
	}
	r := j.waiting
	if r != nil {
		j.mu.Unlock()
		<-r.done
		return r.err
	}
	r = &round{done: make(chan struct{})}
	j.waiting = r
	j.mu.Unlock()

	j.syncing.Lock()
	r.err = j.syncFile()
	j.syncing.Unlock()
	close(r.done)
	return r.err
}

// syncFile syncs all that was appended when it began. It needs syncing.
func (j *Journal) syncFile() error {
	j.mu.Lock()
	j.waiting = nil
	target, file, err := j.appended, j.log.f, j.broken
	done := j.synced == target
	j.mu.Unlock()
	if err != nil || done {
		return err
	}
	if j.opts.BeforeSync != nil {
		if err := j.opts.BeforeSync(); err != nil {
			return fmt.Errorf("sync what the journal builds on: %w", err)
		}
	}
	err = file.Sync(labelSync)
	if err == nil {
		err = j.checkLinked()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.Syncs++
	if err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return j.broken
	}
	j.synced = target
	return nil
}

var errRemoved = errors.New("somebody removed the file")

// checkLinked finds out where the file has lost its name, which no sync does.
func (j *Journal) checkLinked() error {
	st, err := j.log.f.Stat(labelCheck)
	if err == nil && !st.Linked {
		err = errRemoved
	}
	return err
}

// lookEvery is how often appends look whether the file still has its name: a
// look costs half an append.
const lookEvery = 10 * time.Millisecond

// lookLinked keeps appends from a file that somebody wiped, which nobody finds
// again. It needs mu.
func (j *Journal) lookLinked() error {
	now := time.Now()
	if now.Sub(j.looked) < lookEvery {
		return nil
	}
	if err := j.checkLinked(); err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return j.broken
	}
	j.looked = now
	return nil
}

// arm makes sure that a sync happens after Options.SyncAfter. It needs mu.
func (j *Journal) arm() {
	if j.timer == nil {
		j.background.Add(1)
		j.timer = time.AfterFunc(j.opts.SyncAfter, j.syncBehind)
	}
}

// disarm needs mu.
func (j *Journal) disarm() {
	if j.timer != nil && j.timer.Stop() {
		j.background.Done()
	}
	j.timer = nil
}

// syncBehind syncs without anybody waiting. A sync that failed without
// breaking the file is tried again.
func (j *Journal) syncBehind() {
	defer j.background.Done()
	j.mu.Lock()
	j.timer = nil
	j.mu.Unlock()
	err := j.Sync()
	if err == nil || errors.Is(err, ErrClosed) {
		return
	}
	if j.opts.OnError != nil {
		j.opts.OnError(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.usable() == nil {
		j.arm()
	}
}
