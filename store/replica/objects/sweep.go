package objects

import (
	"errors"
	"fmt"

	"memfs/store"
)

// Sweep is a removal of objects that nobody wants any more. Those that are put
// or needed from its beginning on stay.
type Sweep struct{ s *Store }

// BeginSweep begins a sweep, which is to be ended. One goes on at a time.
func (s *Store) BeginSweep() Sweep {
	s.sweeping.Lock()
	s.setTouched(map[store.SHA]bool{})
	return Sweep{s}
}

// End ends the sweep.
func (w Sweep) End() {
	w.s.setTouched(nil)
	w.s.sweeping.Unlock()
}

// Remove removes the objects that keep does not want. keep is called with no
// lock of the store held.
func (w Sweep) Remove(keep func(store.SHA) bool) error {
	s := w.s
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
