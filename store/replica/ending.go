package replica

import (
	"errors"
	"io/fs"
)

// keptName marks a replica that stays for a faster next attach.
const keptName = "kept"

// Ending tells those who find the replica in use that it will be given up
// soon, so that they wait for it (R16). From then on contents that the store has
// are no longer put on disk: most often all of it goes.
func (r *Replica) Ending() error {
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	return r.place.lock.Ending()
}

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

// releaseAll lets go of the bytes of all files that the store has, which
// releasing each as it became clean was put off for. r.mu is held.
func (r *Replica) releaseAll() {
	r.ending = false
	for _, b := range r.tree.bases {
		if n := b.carrier; n != nil && n.content.buf != nil && r.tree.clean(b) {
			r.release(n, b)
		}
	}
}
