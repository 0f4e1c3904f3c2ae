package replica

import "time"

// How long a request whose answer is not known may still arrive at the store,
// from when the store was first seen without what it makes: one of an earlier
// process (R16), and one of this process, which something on the way may carry
// out although the connection was cut.
const (
	lateFor = 10 * time.Minute
	lateOwn = 2 * time.Minute
)

// awaited is what is known of sends whose outcome is not.
type awaited struct {
	// inherited are those of earlier processes.
	inherited map[uint64]struct{}
	// missed is when the store was first seen without them.
	missed map[uint64]time.Time
}

// inherit notes the sends that the journal has: those who made them are gone,
// but what they sent may still be on its way.
func (r *Replica) inherit() {
	r.awaited.inherited = make(map[uint64]struct{}, len(r.tree.sends))
	for seq := range r.tree.sends {
		r.awaited.inherited[seq] = struct{}{}
	}
}

// late reports whether a send that the store does not show may still arrive.
// r.mu is held.
func (r *Replica) late(seq uint64) bool {
	now := r.o.Now()
	missed, before := r.awaited.missed[seq]
	if !before {
		if r.awaited.missed == nil {
			r.awaited.missed = map[uint64]time.Time{}
		}
		missed = now
		r.awaited.missed[seq] = missed
	}
	if _, inherited := r.awaited.inherited[seq]; inherited {
		return now.Sub(missed) < lateFor
	}
	return now.Sub(missed) < lateOwn
}

// Awaiting reports whether a request whose outcome is not known may still
// arrive at the store: the replica is to be kept until it cannot. What this
// process sent and the store did not show is not waited for beyond its end.
func (r *Replica) Awaiting() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.o.Now()
	for seq, s := range r.tree.sends {
		_, inherited := r.awaited.inherited[seq]
		_, missed := r.awaited.missed[seq]
		if (inherited || !missed) && now.Sub(s.At) < lateFor {
			return true
		}
	}
	return false
}

// BeginSend notes in the journal what a request will have made true, before it
// goes out. The number it returns settles it; until then its outcome is not
// known, also across a crash (R16).
func (r *Replica) BeginSend(s Send) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seq, now := r.tree.nextSeq, r.now()
	records := []record{{kind: recSent, seq: seq, op: uint64(s.Op), id: s.ID, path: s.Path, sha: s.SHA,
		ino: uint64(s.Ino), time: now}}
	if s.Counted {
		records = append(records, Delete{ID: s.ID, At: when(int64(now)), Had: len(r.tree.bases)}.record())
	}
	return seq, r.commit(true, records...)
}

// Settle notes the outcome of a send. A step a moves base (KeepTree): the file
// that was sent carries the memory from now on, wherever it is; a nil step
// says that the request was certainly not applied.
func (r *Replica) Settle(seq uint64, a *Apply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settle(seq, a)
}

// Missing notes that the store does not show what a send would have made. The
// send stays open while it may still be on its way.
func (r *Replica) Missing(seq uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late(seq) {
		return nil
	}
	return r.settle(seq, nil)
}

// settle is Settle. r.mu is held.
func (r *Replica) settle(seq uint64, a *Apply) error {
	u := newUpdate(r)
	if a != nil {
		u.agree(*a, a.Ino)
	}
	if s, known := r.tree.sends[seq]; known {
		u.records = append(u.records, record{kind: recSettled, seq: seq})
		if a == nil && r.tree.undone(s) {
			u.records = append(u.records, Delete{ID: s.ID}.record())
		}
	}
	delete(r.awaited.missed, seq)
	if len(u.records) == 0 {
		return nil
	}
	return r.commit(true, u.records...)
}
