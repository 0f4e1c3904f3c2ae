package replica

import (
	"slices"
	"time"
)

// DeleteWindow is how long a delete counts as one of many (R8).
const DeleteWindow = 10 * time.Minute

// Verdict is what was decided about the local delete of a memory. It stands
// until the memory is back or gone, also across a crash (R8, R16).
type Verdict uint8

// The verdicts. Their numbers are part of the on-disk format.
const (
	// Unjudged: nothing was decided.
	Unjudged Verdict = 0
	// HeldBack: it is not sent until it is allowed.
	HeldBack Verdict = 1
	// Allowed: it is sent, however many there are.
	Allowed Verdict = 2
)

// Delete is a delete that went to the store and counts as one of many.
type Delete struct {
	ID string
	At time.Time
	// Had is how many memories base had then.
	Had int
}

// record of a zero time takes the delete back: it was not applied.
func (d Delete) record() record {
	return record{kind: recCounted, id: d.ID, time: uint64(nanos(d.At)), size: uint64(d.Had)}
}

func verdictRecord(id string, v Verdict) record {
	return record{kind: recVerdict, id: id, flags: uint64(v)}
}

// Judge keeps what was decided about local deletes, by memory.
func (r *Replica) Judge(verdicts map[string]Verdict) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var records []record
	for id, v := range verdicts {
		if b := r.tree.bases[id]; b != nil && b.verdict != v {
			records = append(records, verdictRecord(id, v))
		}
	}
	if len(records) == 0 {
		return nil
	}
	return r.commit(true, records...)
}

// pardon forgets what was decided about the delete of a memory that is back.
func (r *Replica) pardon(b *agreed) {
	if b.verdict != Unjudged && !r.closed {
		_ = r.commit(true, verdictRecord(b.ID, Unjudged)) // else the next look does it
	}
}

func (t *tree) applyCounted(r *record) {
	d := Delete{ID: r.id, At: when(int64(r.time)), Had: int(r.size)}
	if r.time != 0 {
		t.counted = t.recent(d.At)
	}
	// One that is sent again counts once.
	t.counted = slices.DeleteFunc(t.counted, func(d Delete) bool { return d.ID == r.id })
	if r.time != 0 {
		t.counted = append(t.counted, d)
	}
}

// undone reports whether a send that was not applied is a counted delete that
// did not happen by another request either, and will not by one that goes on.
func (t *tree) undone(s Send) bool {
	if t.bases[s.ID] == nil || !slices.ContainsFunc(t.counted, func(d Delete) bool { return d.ID == s.ID }) {
		return false
	}
	for _, other := range t.sends {
		if other.Seq != s.Seq && other.ID == s.ID && other.Op == OpDelete {
			return false
		}
	}
	return true
}

// recent are the counted deletes within the window. Where the clock was set
// back, those of the time that is to come again are not.
func (t *tree) recent(now time.Time) []Delete {
	return slices.DeleteFunc(slices.Clone(t.counted), func(d Delete) bool { return now.Sub(d.At).Abs() > DeleteWindow })
}
