package objects

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"memfs/store"
)

// syncsAtOnce is how many files are synced at the same time: the disk makes
// one of several flushes that wait for it.
const syncsAtOnce = 8

// Sync makes durable every Put and Need that returned before it. An object
// that somebody wiped meanwhile is forgotten, which is no error: the next Put
// writes it. What could not be synced is written anew and synced by the next
// Sync.
func (s *Store) Sync() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	shas := s.pending()
	if len(shas) == 0 {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(syncsAtOnce)
	for _, sha := range shas {
		all.Go(func() error {
			if err := s.syncOne(sha); err != nil {
				return fmt.Errorf("sync content %s: %w", sha, err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := s.dir.Sync(labelSync); err != nil {
		return fmt.Errorf("sync contents: %w", err)
	}
	s.settle(shas)
	return nil
}

func (s *Store) pending() []store.SHA {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shas []store.SHA
	for sha, as := range s.whole {
		if as == pending {
			shas = append(shas, sha)
		}
	}
	return shas
}

// settle marks objects durable, unless they went meanwhile.
func (s *Store) settle(shas []store.SHA) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sha := range shas {
		if s.whole[sha] == pending {
			s.whole[sha] = durable
		}
	}
}

func (s *Store) syncOne(sha store.SHA) error {
	f, err := s.dir.OpenFile(labelSync, sha.String(), false)
	if errors.Is(err, fs.ErrNotExist) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.remove(sha)
	}
	if err != nil {
		return err
	}
	err = f.Sync(labelSync)
	if closeErr := f.Close(); err == nil {
		return closeErr
	}
	// The system may take the file's pages for written now, although they are
	// not: only a new file can be believed.
	return errors.Join(err, s.rewrite(sha))
}

func (s *Store) rewrite(sha store.SHA) error {
	content, err := s.Get(sha)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole[sha] == 0 { // removed meanwhile, and must not come back
		return nil
	}
	return s.dir.WriteFile(labelPut, sha.String(), content, false)
}
