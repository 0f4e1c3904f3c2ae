package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"memfs/store"
	"memfs/store/replica/disk"
)

// ErrMissing: the object is not here, or what is here is not it. The caller
// can fetch it again.
var ErrMissing = errors.New("content is not on this host")

// The labels of the store's file operations.
const (
	labelPut    = "objects.put"
	labelGet    = "objects.get"
	labelSync   = "objects.sync"
	labelRemove = "objects.remove"
	labelList   = "objects.list"
)

// maxObject is the largest object that is read, so that what is found on disk
// cannot take all memory.
const maxObject = 1 << 30

// Store is a directory of objects. It is safe for concurrent use.
type Store struct {
	dir *disk.Dir

	mu sync.Mutex
	// whole are the objects that this process wrote or verified, and whether
	// each is durable, waits for Sync, or need not be.
	whole map[store.SHA]state
	// touched are the objects put while a sweep runs; nil while none does.
	touched map[store.SHA]bool

	index *index

	syncing  sync.Mutex // one Sync at a time
	sweeping sync.Mutex // one Sweep at a time
}

type state uint8

const (
	cached state = iota + 1
	pending
	durable
)

// Open takes over a directory that holds nothing else, and removes what
// unfinished writes left in it.
func Open(dir *disk.Dir) (*Store, error) {
	if err := dir.RemoveTemps(labelRemove, 0); err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	names, err := dir.List(labelList)
	if err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	return &Store{dir: dir, whole: map[store.SHA]state{}, index: newIndex(names)}, nil
}

// Put keeps content, whose hash is sha. It survives the end of the process,
// and power loss after the next Sync. It costs little where the object is here.
func (s *Store) Put(sha store.SHA, content []byte) error { return s.put(sha, content, pending) }

// Cache is Put for content that can be fetched again: Sync takes no time for
// it, unless Put or Need come later.
func (s *Store) Cache(sha store.SHA, content []byte) error { return s.put(sha, content, cached) }

func (s *Store) put(sha store.SHA, content []byte, as state) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isWhole(sha, int64(len(content))) {
		delete(s.whole, sha)
		if err := s.dir.WriteFile(labelPut, sha.String(), content, false); err != nil {
			return fmt.Errorf("keep content %s: %w", sha, err)
		}
	}
	s.index.set(sha, true)
	s.mark(sha, as)
	return nil
}

// Need makes an object that is here part of the next Sync, as Put does.
func (s *Store) Need(sha store.SHA) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isWhole(sha, -1) {
		return fmt.Errorf("content %s: %w", sha, ErrMissing)
	}
	s.mark(sha, pending)
	return nil
}

// mark needs mu.
func (s *Store) mark(sha store.SHA, as state) {
	s.whole[sha] = max(s.whole[sha], as)
	if s.touched != nil {
		s.touched[sha] = true
	}
}

// isWhole reports whether the object is here and, where this process did not
// see that before, what its name says. A size of -1 is not compared. It needs
// mu.
func (s *Store) isWhole(sha store.SHA, size int64) bool {
	if s.whole[sha] == 0 {
		_, err := s.read(sha)
		return err == nil
	}
	st, err := s.dir.Stat(labelGet, sha.String())
	return err == nil && st.Regular && (size < 0 || st.Size == size)
}

// Get returns an object's content. It is ErrMissing where the object is
// absent, damaged (it is removed then) or cannot be read.
func (s *Store) Get(sha store.SHA) ([]byte, error) {
	content, err := s.read(sha)
	if errors.Is(err, errDamaged) {
		s.mu.Lock()
		defer s.mu.Unlock()
		// Once more: it may have been put anew meanwhile.
		if content, err = s.read(sha); errors.Is(err, errDamaged) {
			err = errors.Join(err, s.remove(sha))
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.missed(sha)
		return nil, fmt.Errorf("content %s: %w", sha, ErrMissing)
	case err != nil:
		return nil, fmt.Errorf("content %s: %w: %w", sha, ErrMissing, err)
	}
	return content, nil
}

// missed corrects what Has says of an object that somebody wiped.
func (s *Store) missed(sha store.SHA) {
	if !s.index.has(sha) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Once more: it may have been put anew meanwhile.
	if there, err := s.dir.Exists(labelGet, sha.String()); err == nil && !there {
		s.index.set(sha, false)
	}
}

var errDamaged = errors.New("it is damaged")

func (s *Store) read(sha store.SHA) ([]byte, error) {
	content, err := s.dir.ReadFile(labelGet, sha.String(), maxObject)
	if err == nil && store.Hash(content) != sha {
		err = errDamaged
	}
	return content, err
}

// Has reports whether something has the object's name, as far as this process
// knows, and costs nothing; only Get verifies it, and notices where somebody
// wiped it.
func (s *Store) Has(sha store.SHA) bool { return s.index.has(sha) }

// Remove removes an object if it is here.
func (s *Store) Remove(sha store.SHA) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(sha)
}

// remove needs mu.
func (s *Store) remove(sha store.SHA) error {
	delete(s.whole, sha)
	s.index.set(sha, false)
	err := s.dir.Remove(labelRemove, sha.String())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove content %s: %w", sha, err)
	}
	return nil
}
