package mountpoint

import (
	"errors"
	"slices"

	memfs "memfs/fs"
	"memfs/store/replica/disk"
)

// Clear takes dead memfs mounts away from a path, and notes it first with the
// directory that memfs made there. Programs that go on writing at the path may
// fill that directory from then on, which is no reason to refuse it: Take.
func Clear(stateDir, path string) error {
	path = resolved(path)
	if !memfs.Stale(path) {
		return nil
	}
	// The dead mount goes also where nothing can be noted.
	return errors.Join(noteCleared(stateDir, path), memfs.Detach(path))
}

func noteCleared(stateDir, path string) error {
	top, err := disk.Open(stateDir, nil)
	if err != nil {
		return err
	}
	defer top.Close()
	state, err := top.Sub(area)
	if err != nil {
		return err
	}
	defer state.Close()
	return locked(state, func() error {
		r, err := recall(state, recordName(path))
		if err != nil || r.Cleared || !slices.Contains(r.Made, path) {
			return err
		}
		r.Cleared = true
		return remember(state, r)
	})
}
