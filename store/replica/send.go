package replica

// BeginSend notes in the journal what a request will have made true, before it
// goes out. The number it returns settles it; until then its outcome is not
// known, also across a crash (R16).
func (r *Replica) BeginSend(s Send) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seq := r.tree.nextSeq
	err := r.commit(true, record{kind: recSent, seq: seq, op: uint64(s.Op), id: s.ID, path: s.Path, sha: s.SHA,
		ino: uint64(s.Ino), time: r.now()})
	return seq, err
}

// Settle notes the outcome of a send. A step a moves base (KeepTree): the file
// that was sent carries the memory from now on, wherever it is; a nil step
// says that the request was certainly not applied.
func (r *Replica) Settle(seq uint64, a *Apply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := newUpdate(r)
	if a != nil {
		u.agree(*a, a.Ino)
	}
	if _, known := r.tree.sends[seq]; known {
		u.records = append(u.records, record{kind: recSettled, seq: seq})
	}
	if len(u.records) == 0 {
		return nil
	}
	return r.commit(true, u.records...)
}
