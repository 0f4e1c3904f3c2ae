package replica

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica/objects"
)

// Read copies a file's bytes from off into p and returns how many; less than
// len(p) only at the end of the file. Content that was never needed here is
// fetched first, which ctx and the fetch timeout bound (ErrNotFetched).
func (r *Replica) Read(ctx context.Context, ino Ino, p []byte, off int64) (int, error) {
	r.mu.RLock()
	n, err := r.file(ino)
	if err != nil {
		r.mu.RUnlock()
		return 0, err
	}
	if buf := n.content.buf; buf != nil || n.content.size == 0 {
		defer r.mu.RUnlock()
		return copyFrom(p, buf, off), nil
	}
	c := n.content
	r.mu.RUnlock()
	text, err := r.load(ctx, c)
	if err != nil {
		return 0, err
	}
	return copyFrom(p, text, off), nil
}

func copyFrom(p, text []byte, off int64) int {
	if off < 0 || off >= int64(len(text)) {
		return 0
	}
	return copy(p, text[off:])
}

// file finds a regular file that can be read. r.mu is held.
func (r *Replica) file(ino Ino) (*node, error) {
	n, err := r.node(ino)
	switch {
	case err != nil:
		return nil, err
	case n.dir:
		return nil, ErrIsDir
	case n.damaged:
		return nil, ErrDamaged
	}
	return n, nil
}

// load returns a content that is not in memory: from its object, or from the
// store where it can be had there. No lock is held.
func (r *Replica) load(ctx context.Context, c content) ([]byte, error) {
	if c.buf != nil || c.size == 0 {
		return c.buf, nil
	}
	text, err := r.objects.Get(c.sha)
	switch {
	case err == nil && int64(len(text)) != c.size:
		return nil, fmt.Errorf("%w: the store listed %d bytes, and it is %d", ErrDamaged, c.size, len(text))
	case err == nil:
		return text, nil
	case !errors.Is(err, objects.ErrMissing):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case c.memory == "":
		return nil, ErrDamaged
	}
	return r.fetch(ctx, c)
}

// fetch gets a content from the store, once however many ask for it.
func (r *Replica) fetch(ctx context.Context, c content) ([]byte, error) {
	if r.o.Fetch == nil {
		return nil, ErrNotFetched
	}
	if err := r.failed.recent(c.sha); err != nil {
		return nil, err
	}
	answer := r.fetches.DoChan(c.sha.String(), func() (any, error) {
		if !r.enter() {
			return nil, ErrClosed
		}
		defer r.running.Done()
		bound, cancel := context.WithTimeout(r.ctx, r.o.FetchTimeout)
		defer cancel()
		text, err := r.o.Fetch(bound, c.memory, c.version, c.sha)
		if err != nil {
			if errors.Is(err, store.ErrNotFound) && !r.tree.replaying {
				r.o.Missing(c.memory)
			}
			err = fmt.Errorf("%w: %w", ErrNotFetched, err)
			if bound.Err() != nil {
				r.failed.add(c.sha, err)
			}
			return nil, err
		}
		if store.Hash(text) != c.sha || int64(len(text)) != c.size {
			return nil, fmt.Errorf("%w: %w: not the %d bytes that were listed", ErrNotFetched, store.ErrProtocol, c.size)
		}
		if err := r.objects.Cache(c.sha, text); err != nil {
			// The reader gets its bytes; the next one asks the store again.
			r.o.Log.Warn("content not kept in the state directory",
				zap.String("code", "content_not_kept"), zap.String("store", r.o.Store.ID), zap.String("memory", c.memory), zap.Error(err))
		}
		return text, nil
	})
	select {
	case got := <-answer:
		if got.Err != nil {
			return nil, got.Err
		}
		return got.Val.([]byte), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrNotFetched, ctx.Err())
	}
}

// enter counts the caller as work that ending the replica waits for; false
// where it has ended.
func (r *Replica) enter() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return false
	}
	r.running.Add(1)
	return true
}
