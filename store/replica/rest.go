package replica

import (
	"cmp"
	"maps"
	"time"
)

const (
	// Quiet is how long a file or name must have been left alone to have rested
	// (R4).
	Quiet = 2 * time.Second
	// EmptyRest is how long a file that was emptied must have stayed so, at least,
	// to be meant so (R4).
	EmptyRest = 10 * time.Second
)

// vacancy is a name that a local change took from a file: when it did, and since
// when what has the name has differed from base.
type vacancy struct{ at, since int64 }

// vacate notes that a local change takes a file's name.
func (t *tree) vacate(path string, n *node, now int64) {
	t.vacated[path] = vacancy{at: now, since: cmp.Or(n.dirtySince(), now)}
}

// occupy lets a file that gets a name go on where the one before left off: a
// name that is taken again before it rested is one file to those who save it so
// over and over, by rename or by unlink and create (R4).
func (t *tree) occupy(n *node, now int64) {
	path := n.path()
	n.earlier = 0
	if v, ok := t.vacated[path]; ok && now-v.at < int64(Quiet) {
		n.earlier = v.since
	}
	delete(t.vacated, path)
}

// dirtySince is since when a file, or what had its name before it, has differed
// from base; 0 while it does not.
func (n *node) dirtySince() int64 {
	if n.since == 0 || n.earlier == 0 {
		return n.since
	}
	return min(n.since, n.earlier)
}

// agree notes that a file is as base has it, or that base is another from here
// on.
func (n *node) agree() { n.since, n.earlier = 0, 0 }

// forgetVacancies forgets the names that have rested.
func (t *tree) forgetVacancies(now int64) {
	maps.DeleteFunc(t.vacated, func(_ string, v vacancy) bool { return now-v.at >= int64(Quiet) })
}
