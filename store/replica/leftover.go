package replica

import (
	"errors"
	"io/fs"
	"time"

	"memfs/store"
	"memfs/store/replica/disk"
	"memfs/store/replica/journal"
)

// Leftover is a replica that lies in the state directory: of a live session,
// or left by a crash or an end that could not send everything.
type Leftover struct {
	Store     string
	Endpoint  string
	MountPath string
	Session   string
	Created   time.Time
	// Live is set while a process has it open; PID is that process, 0 if it
	// cannot be told.
	Live bool
	PID  int
}

// Options are what opens this leftover; the caller adds the rest.
func (l Leftover) Options(stateDir string) Options {
	return Options{Dir: stateDir, Store: store.Info{ID: l.Store}, Endpoint: l.Endpoint, MountPath: l.MountPath, Session: l.Session}
}

// Leftovers lists the replicas in a state directory, whoever left them. A
// journal that cannot be read is passed over: it says of no store whose it is.
func Leftovers(stateDir string) ([]Leftover, error) {
	top, err := disk.Open(stateDir, nil)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	all, err := top.Sub("replicas")
	if err != nil {
		return nil, err
	}
	defer all.Close()
	keys, err := all.List("leftovers")
	if err != nil {
		return nil, err
	}
	var out []Leftover
	for _, key := range keys {
		l, err := leftover(all, key)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, err
		}
		if l.Store != "" {
			out = append(out, l)
		}
	}
	return out, nil
}

func leftover(all *disk.Dir, key string) (l Leftover, err error) {
	dir, err := all.Sub(key)
	if err != nil {
		return l, err
	}
	defer dir.Close()
	lock, err := dir.Lock("lock")
	var locked *disk.LockedError
	switch {
	case errors.As(err, &locked):
		l.Live, l.PID = true, locked.PID
	case err != nil:
		return l, err
	default:
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	h, err := journal.ReadHeader(dir, journalName)
	if err != nil {
		return l, err
	}
	l.Store, l.Endpoint, l.MountPath, l.Session, l.Created = h.Store, h.Endpoint, h.MountPath, h.Session, h.Created
	return l, nil
}
