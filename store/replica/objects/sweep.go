package objects

import (
	"errors"
	"fmt"

	"memfs/store"
)

// Sweep removes the objects that keep does not want. Those that are put while
// it runs stay. keep is called with no lock of the store held. One sweep runs
// at a time.
func (s *Store) Sweep(keep func(store.SHA) bool) error {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	s.setTouched(map[store.SHA]bool{})
	defer s.setTouched(nil)
	names, err := s.dir.List(labelList)
	if err != nil {
		return fmt.Errorf("sweep objects: %w", err)
	}
	for _, name := range names {
		sha, notObject := store.ParseSHA(name)
		if notObject != nil || keep(sha) {
			continue
		}
		err = errors.Join(err, s.removeUntouched(sha))
	}
	return err
}

func (s *Store) setTouched(touched map[store.SHA]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched = touched
}

func (s *Store) removeUntouched(sha store.SHA) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.touched[sha] {
		return nil
	}
	return s.remove(sha)
}
