package replica

import (
	"errors"
	"io/fs"
	"time"

	"memfs/store"
	"memfs/store/replica/disk"
	"memfs/store/replica/journal"
)

const labelLeftovers = "leftovers"

// Leftover is a replica that lies in the state directory: of a live session,
// or left by a crash or an end that could not send everything.
type Leftover struct {
	// ID is a short name that stays the same.
	ID string

	Store     string
	Endpoint  string
	MountPath string
	Session   string
	Created   time.Time
	// ReadOnly: what was changed here is never sent (R10).
	ReadOnly bool
	// Kept: it ended with nothing left to send, and stays for a faster next
	// attach.
	Kept bool
	// Live is set while a process has it open; PID is that process, 0 if it
	// cannot be told.
	Live bool
	PID  int
	// Fault is why the journal cannot be read; nil if it can. Nothing but ID,
	// Live and PID is known then, and Created is when it was written last.
	Fault error

	stateDir, key string
}

// Options are what opens this leftover; the caller adds the rest.
func (l Leftover) Options() Options {
	return Options{Dir: l.stateDir, Store: store.Info{ID: l.Store}, Endpoint: l.Endpoint, MountPath: l.MountPath, Session: l.Session,
		ReadOnly: l.ReadOnly}
}

// Own reports whether this is what Open with these options would open.
func (l Leftover) Own(o Options) bool { return l.key == o.key() }

// Drop removes the leftover with everything in it but what is in the conflict
// area; ErrInUse while a process has it open.
func (l Leftover) Drop() error {
	p, err := openPlace(l.stateDir, l.key, nil)
	if err != nil {
		return err
	}
	return p.remove(digest(l.Endpoint, l.Store))
}

// Leftovers lists the replicas in a state directory, whoever left them.
func Leftovers(stateDir string) ([]Leftover, error) {
	top, err := disk.Open(stateDir, nil)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	all, err := top.Sub(replicasName)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	keys, err := all.List(labelLeftovers)
	if err != nil {
		return nil, err
	}
	var out []Leftover
	for _, key := range keys {
		l := Leftover{ID: leftoverID(key), stateDir: stateDir, key: key}
		err := l.find(all)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended meanwhile, or never came to have a journal: see Sweep
		}
		l.Fault = err
		out = append(out, l)
	}
	return out, nil
}

func leftoverID(key string) string { return key[:min(8, len(key))] }

// find fills in what the journal's header and the lock say.
func (l *Leftover) find(all *disk.Dir) (err error) {
	dir, err := all.Sub(l.key)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.Lock(lockName)
	var locked *disk.LockedError
	switch {
	case errors.As(err, &locked):
		l.Live, l.PID = true, locked.PID
	case err != nil:
		return err
	default:
		// Whoever finds it taken in this moment is to wait.
		defer func() { err = errors.Join(err, lock.Release()) }()
		if err := lock.Ending(); err != nil && !disk.NoSpace(err) {
			return err
		}
	}
	h, err := journal.ReadHeader(dir, journalName)
	if err != nil {
		st, missing := dir.Stat(labelLeftovers, journalName)
		l.Created = st.Mtime
		return errors.Join(err, missing)
	}
	l.Store, l.Endpoint, l.MountPath, l.Session, l.Created = h.Store, h.Endpoint, h.MountPath, h.Session, h.Created
	l.ReadOnly = h.ReadOnly
	l.Kept, err = dir.Exists(labelLeftovers, keptName)
	return err
}
