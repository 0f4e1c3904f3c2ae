package conflicts

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"memfs/store"
	"memfs/store/replica/disk"
)

// How long and how much is kept where Options do not say (R7).
const (
	DefaultMaxAge   = 30 * 24 * time.Hour
	DefaultMaxBytes = 64 << 20
)

// How much of a file is read back at most.
const (
	maxMeta = 64 << 10
	maxText = 1 << 30
)

// The labels of the area's file operations.
const (
	labelSave = "conflicts.save"
	labelRead = "conflicts.read"
	labelDrop = "conflicts.drop"
)

// Options are the area's settings. Zero values mean the defaults.
type Options struct {
	MaxAge   time.Duration
	MaxBytes int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// tempAge is when an unfinished save is nobody's any more.
const tempAge = time.Hour

// Area is the conflict area in one directory. It is safe for concurrent use,
// by several processes too.
type Area struct {
	dir  *disk.Dir
	opts Options
	mu   sync.Mutex // one change of the directory at a time
}

// Open opens the area in a directory that holds nothing else, and removes what
// saves left in it that were cut off more than an hour ago.
func Open(dir *disk.Dir, o Options) (*Area, error) {
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := dir.RemoveTemps(labelDrop, tempAge); err != nil {
		return nil, fmt.Errorf("open conflicts: %w", err)
	}
	return &Area{dir: dir, opts: o}, nil
}

// Save keeps a text that lost; it is on disk when Save returns. The entry that
// comes back has ID, Local, Size and Time set. A text that was redacted in the
// store is not kept: ErrRedacted.
func (a *Area) Save(e Entry, content []byte) (Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = a.opts.Now()
	}
	e.ID = newID(e.Time, rand.Text())
	e.Local, e.Size = store.Hash(content), int64(len(content))
	if gone, err := a.Redacted(e.Local); err != nil || gone {
		return Entry{}, fmt.Errorf("keep the losing text: %w", cmp.Or(err, ErrRedacted))
	}
	meta, err := encode(e)
	if err == nil {
		err = a.dir.WriteFile(labelSave, e.ID+metaSuffix, meta, true)
	}
	if err == nil {
		err = a.dir.WriteFile(labelSave, e.ID+textSuffix, content, true)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("keep the losing text: %w", errors.Join(err, a.drop(e.ID)))
	}
	return e, nil
}

// List returns the entries, oldest first. Where some are damaged, the error is
// a *DamagedError and the entries returned with it are good.
func (a *Area) List() ([]Entry, error) {
	ids, err := a.ids(textSuffix)
	if err != nil {
		return nil, fmt.Errorf("list conflicts: %w", err)
	}
	var entries []Entry
	var damaged []string
	for _, id := range ids {
		e, err := a.entry(id)
		switch {
		case err == nil:
			entries = append(entries, e)
		case !errors.Is(err, ErrNotFound): // else dropped meanwhile
			damaged = append(damaged, id)
		}
	}
	if damaged != nil {
		return entries, &DamagedError{IDs: damaged}
	}
	return entries, nil
}

// Text returns an entry with its text. Where the description is damaged, or
// the text is not the one saved, the error is ErrDamaged and what is there
// comes with it.
func (a *Area) Text(id string) ([]byte, Entry, error) {
	if !idPattern.MatchString(id) {
		return nil, Entry{}, fmt.Errorf("conflict %q: %w", id, ErrNotFound)
	}
	text, err := a.dir.ReadFile(labelRead, id+textSuffix, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, Entry{}, fmt.Errorf("conflict %s: %w", id, err)
	}
	e, err := a.entry(id)
	if err == nil && store.Hash(text) != e.Local {
		err = fmt.Errorf("conflict %s: %w: its text was altered", id, ErrDamaged)
	}
	return text, e, err
}

// entry reads an entry's description.
func (a *Area) entry(id string) (Entry, error) {
	meta, err := a.dir.ReadFile(labelRead, id+metaSuffix, maxMeta)
	if err == nil {
		var e Entry
		if e, err = decode(id, meta); err == nil {
			return e, nil
		}
	}
	if there, _ := a.dir.Exists(labelRead, id+textSuffix); !there {
		return Entry{}, fmt.Errorf("conflict %s: %w", id, ErrNotFound)
	}
	return Entry{ID: id, Time: timeOf(id)}, fmt.Errorf("conflict %s: %w: %w", id, ErrDamaged, err)
}

// ids lists the entries that have a file with the suffix, oldest first.
func (a *Area) ids(suffix string) ([]string, error) {
	names, err := a.dir.List(labelRead)
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, suffix); ok && idPattern.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}
