package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

const (
	// catchUps is how often a checkpoint follows the appends of others before
	// it stops them for the rest.
	catchUps = 4
	// shortTail is a rest that is not worth another round.
	shortTail = 64 << 10
)

// Checkpoint replaces the journal's file by a shorter one. It ends with
// Commit or Abort.
type Checkpoint struct {
	j     *Journal
	err   error
	ended bool
	// old is the file as it was at the beginning, and from the end of what
	// the snapshot stands for.
	old  log
	from int64
}

// BeginCheckpoint marks the point that the snapshot will stand for. The caller
// holds the lock under which it appends, and takes its snapshot before it lets
// go: nothing here waits. From then on appends are also kept for the new file.
// One checkpoint can be under way: Commit of another fails with
// ErrCheckpointing.
func (j *Journal) BeginCheckpoint() *Checkpoint {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return &Checkpoint{j: j, err: ErrClosed, ended: true}
	case j.checkpointing:
		return &Checkpoint{j: j, err: ErrCheckpointing, ended: true}
	}
	j.checkpointing = true
	return &Checkpoint{j: j, old: j.log, from: j.log.end}
}

// Abort ends a checkpoint that is not to be committed. It does nothing after
// Commit.
func (c *Checkpoint) Abort() {
	if c.ended {
		return
	}
	c.ended = true
	c.err = errors.New("the checkpoint was aborted")
	c.j.mu.Lock()
	c.j.checkpointing = false
	c.j.mu.Unlock()
}

// Commit writes the snapshot and what was appended since BeginCheckpoint to a
// new file and puts it in the place of the old one, durably. Appends wait only
// for the last few records to be copied, syncs a little longer. A broken
// journal is whole again afterwards. After an error before the rename the old
// file goes on; if the directory cannot be synced after it, the journal is
// broken.
func (c *Checkpoint) Commit(snapshot iter.Seq[[]byte]) error {
	if c.ended {
		return c.err
	}
	defer c.Abort()
	w, err := newWriter(c.j.dir, c.j.name, c.j.header)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	err = c.fill(w, snapshot)
	if err == nil {
		err = c.replace(w)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// fill writes and syncs the snapshot and most of the tail.
func (c *Checkpoint) fill(w *writer, snapshot iter.Seq[[]byte]) error {
	err := w.addAll(snapshot)
	for range catchUps {
		if err != nil {
			break
		}
		var end int64
		if end, err = c.j.open(); err != nil {
			break
		}
		if err = c.copyTail(w, end); err == nil {
			err = c.sync(w, labelNew)
		}
		if c.j.Size()-end <= shortTail {
			break
		}
	}
	if err != nil {
		return errors.Join(err, w.discard())
	}
	return nil
}

// open returns the end of the frames, or ErrClosed.
func (j *Journal) open() (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, ErrClosed
	}
	return j.log.end, nil
}

// copyTail copies the frames of the old file up to end.
func (c *Checkpoint) copyTail(w *writer, end int64) error {
	r := bufio.NewReaderSize(io.NewSectionReader(readerAt{c.old.f}, c.from, end-c.from), readChunk)
	in := frames{r: r, salt: c.old.salt, off: c.from, end: end}
	for in.off < end {
		payload, err := in.next()
		if err != nil {
			return fmt.Errorf("read back what was appended: %w", err)
		}
		if err := w.add(payload); err != nil {
			return err
		}
	}
	c.from = end
	return nil
}

func (c *Checkpoint) sync(w *writer, label string) error {
	if c.j.opts.BeforeSync != nil {
		if err := c.j.opts.BeforeSync(); err != nil {
			return fmt.Errorf("sync what the journal builds on: %w", err)
		}
	}
	return w.sync(label)
}

// replace puts the new file in the old one's place. Appends wait until it has
// the name; syncs until the name is durable, for before that power loss may
// bring the old file back.
func (c *Checkpoint) replace(w *writer) error {
	j := c.j
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if err := c.switchTo(w); err != nil {
		return errors.Join(err, w.discard())
	}
	_ = c.old.f.Close() // nothing in it is needed any more
	err := j.dir.Sync(labelDirSync)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return j.broken
	}
	j.stats.Checkpoints++
	return nil
}

// switchTo copies the last of the tail and makes w the journal's file.
func (c *Checkpoint) switchTo(w *writer) error {
	j := c.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	if c.from < j.log.end {
		if err := c.copyTail(w, j.log.end); err != nil {
			return err
		}
		if err := c.sync(w, labelTail); err != nil {
			return err
		}
	}
	if err := w.rename(); err != nil {
		return err
	}
	j.log, j.broken, j.synced = w.log, nil, j.appended
	return nil
}
