package replica

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"memfs/store/replica/disk"
)

// Sweep removes the replicas of processes that were killed before they had a
// journal: nothing was ever acknowledged in them. It takes only what memfs makes,
// and nothing that a process has open.
func Sweep(stateDir string) error {
	top, err := disk.Open(stateDir, nil)
	if err != nil {
		return err
	}
	defer top.Close()
	all, err := top.Sub(replicasName)
	if err != nil {
		return err
	}
	defer all.Close()
	keys, err := all.List(labelLeftovers)
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range keys {
		if isKey(key) {
			errs = append(errs, sweepPlace(all, stateDir, key))
		}
	}
	return errors.Join(errs...)
}

// sweepPlace removes the place of a key if it never had a journal. It looks
// before it takes the lock as well, so as not to disturb those that have one.
func sweepPlace(all *disk.Dir, stateDir, key string) error {
	dir, err := all.Sub(key)
	if err != nil {
		return err
	}
	begun, err := onlyBegun(dir)
	_ = dir.Close() // opened for looking up names only
	if err != nil || !begun {
		return err
	}
	p, err := openPlace(stateDir, key, nil)
	if errors.Is(err, ErrInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	// Whoever finds it taken in this moment is to wait.
	if err = p.lock.Ending(); err == nil || disk.NoSpace(err) {
		begun, err = onlyBegun(p.dir)
	}
	if err != nil || !begun {
		p.close()
		return err
	}
	return p.remove("")
}

// onlyBegun reports whether a place holds nothing but what is made before its
// journal.
func onlyBegun(dir *disk.Dir) (bool, error) {
	names, err := dir.List(labelLeftovers)
	early := func(name string) bool {
		return name == lockName || name == objectsName || strings.HasPrefix(name, journalName+".")
	}
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return !early(name) }), err
}

// isKey reports whether a name is one that places have.
func isKey(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == keyBytes
}
