package conflicts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"memfs/store"
)

// ErrRedacted: the text was redacted in the store, and is not kept here (R19).
var ErrRedacted = errors.New("redacted in the store")

// redactedSuffix marks a hash whose text was redacted. The files are empty.
const redactedSuffix = ".redacted"

// Redact removes every text that has the hash, which was redacted in the store,
// and keeps the hash for as long as texts are kept, so that what has it is not
// saved or sent again (R19).
func (a *Area) Redact(sha store.SHA) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.dir.WriteFile(labelSave, sha.String()+redactedSuffix, nil, true); err != nil {
		return fmt.Errorf("note a redacted text: %w", err)
	}
	return a.purge(sha)
}

// Redacted reports whether a text that has the hash was redacted in the store.
func (a *Area) Redacted(sha store.SHA) (bool, error) {
	return a.dir.Exists(labelRead, sha.String()+redactedSuffix)
}

// Note adds versions that hold an entry's text to what is known about it.
func (a *Area) Note(id string, versions ...string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !idPattern.MatchString(id) {
		return fmt.Errorf("conflict %q: %w", id, ErrNotFound)
	}
	e, err := a.entry(id)
	if err != nil {
		return err
	}
	e.Versions = append(slices.Clone(e.Versions), versions...)
	slices.Sort(e.Versions)
	e.Versions = slices.Compact(e.Versions)
	meta, err := encode(e)
	if err == nil {
		err = a.dir.WriteFile(labelSave, id+metaSuffix, meta, true)
	}
	if err != nil {
		return fmt.Errorf("conflict %s: %w", id, err)
	}
	return nil
}

// purge removes every entry whose text has the hash. The texts themselves are
// hashed, whatever their descriptions say. It needs mu.
func (a *Area) purge(sha store.SHA) error {
	ids, err := a.ids(textSuffix)
	for _, id := range ids {
		text, readErr := a.dir.ReadFile(labelRead, id+textSuffix, maxText)
		switch {
		case readErr != nil:
			err = errors.Join(err, fmt.Errorf("purge conflicts: %w", readErr))
		case store.Hash(text) == sha:
			err = errors.Join(err, a.drop(id))
		}
	}
	return err
}

// forget removes the hashes of redacted texts that were noted too long ago. It
// needs mu.
func (a *Area) forget() error {
	names, err := a.dir.List(labelRead)
	for _, name := range names {
		if !strings.HasSuffix(name, redactedSuffix) {
			continue
		}
		st, statErr := a.dir.Stat(labelRead, name)
		if statErr != nil || a.opts.Now().Sub(st.Mtime) < a.opts.MaxAge {
			continue
		}
		if removeErr := a.dir.Remove(labelDrop, name); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("forget a redacted text: %w", removeErr))
		}
	}
	return err
}
