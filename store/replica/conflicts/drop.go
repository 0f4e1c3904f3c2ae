package conflicts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Drop removes an entry.
func (a *Area) Drop(id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !idPattern.MatchString(id) {
		return fmt.Errorf("conflict %q: %w", id, ErrNotFound)
	}
	if there, err := a.dir.Exists(labelDrop, id+textSuffix); err != nil || !there {
		return fmt.Errorf("conflict %s: %w", id, errors.Join(err, ErrNotFound))
	}
	return a.drop(id)
}

// Expire removes what is older than Options.MaxAge, and the oldest until no
// more than Options.MaxBytes are left. It returns what it removed; of damaged
// entries only ID and Time are known.
func (a *Area) Expire() (dropped []Entry, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids, err := a.ids(textSuffix)
	if err == nil {
		err = errors.Join(a.dropDescriptions(ids), a.forget())
	}
	if err != nil {
		return nil, fmt.Errorf("expire conflicts: %w", err)
	}
	oldest := a.opts.Now().Add(-a.opts.MaxAge)
	var total int64
	for _, id := range slices.Backward(ids) { // newest first
		e, _ := a.entry(id)
		if st, err := a.dir.Stat(labelRead, id+textSuffix); err == nil {
			total += st.Size
		}
		if total <= a.opts.MaxBytes && !timeOf(id).Before(oldest) {
			continue
		}
		if dropErr := a.drop(id); dropErr != nil {
			err = errors.Join(err, dropErr)
			continue
		}
		dropped = append(dropped, e)
	}
	slices.Reverse(dropped)
	return dropped, err
}

// dropDescriptions removes those that have been without a text for a while: a
// save or a drop was cut off. It needs mu.
func (a *Area) dropDescriptions(texts []string) error {
	ids, err := a.ids(metaSuffix)
	for _, id := range ids {
		if _, found := slices.BinarySearch(texts, id); found {
			continue
		}
		st, statErr := a.dir.Stat(labelRead, id+metaSuffix)
		if statErr == nil && time.Since(st.Mtime) >= tempAge {
			err = errors.Join(err, a.drop(id))
		}
	}
	return err
}

// drop removes an entry's files, the text first: without it there is no entry.
// It needs mu.
func (a *Area) drop(id string) error {
	var err error
	for _, suffix := range []string{textSuffix, metaSuffix} {
		removeErr := a.dir.Remove(labelDrop, id+suffix)
		if removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("drop conflict %s: %w", id, removeErr))
		}
	}
	return err
}
