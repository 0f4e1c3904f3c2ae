package replica

import (
	"errors"
	"io/fs"
)

// keptName marks a replica that stays for a faster next attach.
const keptName = "kept"

// Ending tells those who find the replica in use that it will be given up
// soon, so that they wait for it (R16).
func (r *Replica) Ending() error { return r.place.lock.Ending() }

// Keep is Close for a replica that has nothing left to send and stays for a
// faster next attach only. Leftovers tells it from one that a crash left.
func (r *Replica) Keep() error {
	if err := r.place.dir.WriteFile("keep", keptName, nil, false); err != nil {
		return errors.Join(err, r.Close())
	}
	return r.Close()
}

// unmarkKept: whatever ends the replica now, it is not kept unless it says so
// again.
func (r *Replica) unmarkKept() error {
	if err := r.place.dir.Remove("keep", keptName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
