package replica

import (
	"context"
	"fmt"
	"slices"
	"time"

	"memfs/store"
)

// Write puts p at off into a file and returns how many bytes were taken. They
// are in the journal when it returns. What is over a memory's size is not
// taken: the write is short, or ErrFileTooLarge where nothing fits (R11).
func (r *Replica) Write(ctx context.Context, ino Ino, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, ErrInvalid
	}
	r.letCompact()
	// Of what the store has over the limit, not all is replaced by what is taken.
	whole := func(c content) bool { return off == 0 && min(int64(len(p)), store.MaxContent) >= c.size }
	n, err := r.lockLoaded(ctx, ino, whole)
	if err != nil {
		return 0, err
	}
	defer r.mu.Unlock()
	size := min(int64(len(p)), max(0, r.limit(n)-off))
	if size == 0 && len(p) > 0 {
		r.fail(n)
		return 0, overLimit(n)
	}
	if size == 0 {
		return 0, nil
	}
	if err := r.checkScratch(n, off+size); err != nil {
		r.fail(n)
		return 0, err
	}
	now := r.now()
	records := []record{{kind: recWrite, ino: uint64(ino), off: uint64(off), time: now, data: p[:size]}}
	if n.failed && int64(now)-n.failedAt >= int64(saveRest) && (n.content.buf != nil || n.content.size == 0) {
		// Another save than the one that failed, on what is there.
		there := record{kind: recTruncate, ino: uint64(ino), size: uint64(n.content.size), time: now}
		records = slices.Insert(records, 0, there)
	}
	if size < int64(len(p)) {
		records = append(records, record{kind: recFailed, ino: uint64(ino)})
		n.failedAt = int64(now)
	}
	if err := r.commit(false, records...); err != nil {
		r.fail(n)
		return 0, err
	}
	return int(size), nil
}

// truncate gives a file a new size.
func (r *Replica) truncate(ctx context.Context, ino Ino, size int64) error {
	if size < 0 {
		return ErrInvalid
	}
	n, err := r.lockLoaded(ctx, ino, func(c content) bool { return size == 0 || size == c.size })
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	switch {
	case size == n.content.size && size > 0:
		return nil
	case size > r.limit(n):
		return overLimit(n)
	}
	if err := r.checkScratch(n, size); err != nil {
		return err
	}
	return r.commit(size <= n.content.size, record{kind: recTruncate, ino: uint64(ino), size: uint64(size), time: r.now()})
}

// lockLoaded takes r.mu with the file's content in memory, unless enough says
// that the change does not build on it. A content that comes from an object is
// one that the journal can build on. Without an error r.mu is held.
func (r *Replica) lockLoaded(ctx context.Context, ino Ino, enough func(content) bool) (*node, error) {
	for {
		r.mu.Lock()
		n, err := r.node(ino)
		switch {
		case err != nil:
		case n.dir:
			err = ErrIsDir
		case n.content.buf != nil || n.content.size == 0:
			return n, nil
		case enough(n.content):
			return n, nil
		case n.damaged:
			err = ErrDamaged
		}
		if err != nil {
			r.mu.Unlock()
			return nil, err
		}
		c, gen := n.content, n.gen
		r.mu.Unlock()
		text, err := r.load(ctx, c)
		if err != nil {
			return nil, err
		}
		if err := r.objects.Need(c.sha); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoSpace, err) // fetched, and could not be kept
		}
		r.mu.Lock()
		if n.gen == gen && n.content.sha == c.sha && n.content.buf == nil {
			n.content.buf = append(make([]byte, 0, len(text)), text...)
			return n, nil
		}
		r.mu.Unlock()
	}
}

// limit is how long a file may become.
func (r *Replica) limit(n *node) int64 {
	if n.local {
		return r.o.ScratchLimit
	}
	return store.MaxContent
}

// overLimit is what a file that would exceed its limit gets: local-only files
// have none but that of all together (R17).
func overLimit(n *node) error {
	if n.local {
		return ErrScratchFull
	}
	return ErrFileTooLarge
}

// checkScratch applies the cap on local-only files together (R17), those included
// that have no name any more and are held open.
func (r *Replica) checkScratch(n *node, size int64) error {
	grow := size - n.content.size
	if n.local && grow > 0 && r.tree.scratchBytes+r.tree.heldBytes+grow > r.o.ScratchLimit {
		return ErrScratchFull
	}
	return nil
}

// saveRest is how long after a write that failed another one belongs to a later
// save: nobody hears of a close, so rest takes its place (R4).
const saveRest = 2 * time.Second

// fail notes that a write to n could not be kept, so that half a save is not
// sent (R4). It is journaled as far as there is room.
func (r *Replica) fail(n *node) {
	n.failedAt = int64(r.now())
	if err := r.commit(true, record{kind: recFailed, ino: uint64(n.ino)}); err != nil {
		n.failed = true
	}
}

// Setattr changes attributes; a size changes the content with them.
func (r *Replica) Setattr(ctx context.Context, ino Ino, s SetAttr) (Attr, error) {
	if s.Size != nil {
		if err := r.truncate(ctx, ino, *s.Size); err != nil {
			return Attr{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.node(ino)
	if err != nil {
		return Attr{}, err
	}
	if s.Mode == nil && s.UID == nil && s.GID == nil && s.Atime == nil && s.Mtime == nil {
		return n.attr(), nil
	}
	rec := record{kind: recAttr, ino: uint64(ino), mode: uint64(n.mode), uid: uint64(n.uid), gid: uint64(n.gid),
		atime: uint64(n.atime), mtime: uint64(n.mtime), ctime: r.now()}
	if s.Mode != nil {
		rec.mode = uint64(*s.Mode & 0o7777)
	}
	if s.UID != nil {
		rec.uid = uint64(*s.UID)
	}
	if s.GID != nil {
		rec.gid = uint64(*s.GID)
	}
	if s.Atime != nil {
		rec.atime = uint64(s.Atime.UnixNano())
	}
	if s.Mtime != nil {
		rec.mtime = uint64(s.Mtime.UnixNano())
	}
	if err := r.commit(true, rec); err != nil {
		return Attr{}, err
	}
	return n.attr(), nil
}

// Getattr describes a file or directory, also one without a name that the
// kernel still knows.
func (r *Replica) Getattr(ino Ino) (Attr, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n, err := r.node(ino)
	if err != nil {
		return Attr{}, err
	}
	return n.attr(), nil
}

// Fsync returns when every change so far, and what it builds on, is on disk.
func (r *Replica) Fsync(ino Ino) error {
	r.mu.Lock()
	n, err := r.node(ino)
	if err == nil && n.before != nil {
		// It was emptied and then synced: it is meant to be empty (R16).
		err = r.commit(true, record{kind: recSynced, ino: uint64(ino)})
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.sync()
}

func (r *Replica) sync() error {
	err := r.journal.Sync()
	if err == nil {
		return nil
	}
	r.background(r.heal)
	return journalError(err)
}
