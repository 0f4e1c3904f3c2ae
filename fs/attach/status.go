package attach

import (
	"memfs/fs"
	"memfs/reconcile"
	"memfs/store/replica"
)

// Status is the state of one attached store.
type Status struct {
	replica.Status
	Sync reconcile.Status `json:"sync"`
	// Panics counts faults of memfs in file operations; above 0 the mount is
	// degraded.
	Panics int64 `json:"panics,omitempty"`
	// Unmounted: the path does not lead to the store any more; it is served until
	// the end of the session for those who still use it.
	Unmounted bool `json:"unmounted,omitempty"`
	// Slowest are the slowest file operations of the last one to two hours, the
	// slowest first; none below a millisecond.
	Slowest []fs.Slow `json:"slowest,omitempty"`
}

// Status describes every store of the session.
func (s *Session) Status() []Status {
	out := make([]Status, len(s.attached))
	for i, a := range s.attached {
		out[i] = a.status()
		out[i].Unmounted = a.unmounted()
	}
	return out
}

func (a *attached) status() Status {
	return Status{Status: a.replica.Status(), Sync: a.rec.Status(), Panics: a.panics.Load(), Slowest: a.slowest.List()}
}

func (a *attached) unmounted() bool {
	select {
	case <-a.mount.Detached():
		return true
	default:
		return false
	}
}

// maxPaths is how many paths a status has that must fit an extended attribute
// (64 KiB): twenty of the longest.
const maxPaths = 20

// attribute is the status as the mount itself shows it, in user.memfs.status.
func (a *attached) attribute() any {
	s := a.status()
	if unsent := s.Sync.Last.Unsent; len(unsent) > maxPaths {
		s.Sync.Last.Unsent = unsent[:maxPaths]
	}
	return s
}

// observe hears of each file operation.
func (a *attached) observe(op fs.Operation) {
	a.slowest.Observe(op)
	if a.o.Observe != nil {
		a.o.Observe(op)
	}
}
