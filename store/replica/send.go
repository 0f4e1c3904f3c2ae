package replica

import "time"

// lateFor is how long a request of an earlier process may still arrive at the
// store, from when the store was first looked at since (R16).
const lateFor = 10 * time.Minute

// inherited are the sends of earlier processes whose outcome is not known.
type inherited struct {
	seqs map[uint64]struct{}
	// since is when one of them was first found not to be applied.
	since time.Time
}

// inherit notes the sends that the journal has: those who made them are gone,
// but what they sent may still be on its way.
func (r *Replica) inherit() {
	r.inherited.seqs = make(map[uint64]struct{}, len(r.tree.sends))
	for seq := range r.tree.sends {
		r.inherited.seqs[seq] = struct{}{}
	}
}

// late reports whether a send that the store does not show may still arrive.
// r.mu is held.
func (r *Replica) late(seq uint64) bool {
	if _, ok := r.inherited.seqs[seq]; !ok {
		return false
	}
	now := r.o.Now()
	if r.inherited.since.IsZero() {
		r.inherited.since = now
	}
	return now.Sub(r.inherited.since) < lateFor
}

// Awaiting reports whether a request whose outcome is not known may still
// arrive at the store: the replica is to be kept until it cannot.
func (r *Replica) Awaiting() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.o.Now()
	for _, s := range r.tree.sends {
		if now.Sub(s.At) < lateFor {
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
// says that the request was not applied. That is certain where this process
// made it; one of an earlier process stays open for a while, since it may still
// be on its way.
func (r *Replica) Settle(seq uint64, a *Apply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := newUpdate(r)
	switch {
	case a != nil:
		u.agree(*a, a.Ino)
	case r.late(seq):
		return nil
	}
	if s, known := r.tree.sends[seq]; known {
		u.records = append(u.records, record{kind: recSettled, seq: seq})
		if a == nil && r.tree.counts(s.ID) {
			u.records = append(u.records, Delete{ID: s.ID}.record())
		}
	}
	if len(u.records) == 0 {
		return nil
	}
	return r.commit(true, u.records...)
}
