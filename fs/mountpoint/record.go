package mountpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"memfs/store/replica/disk"
)

// record is what stands in the state directory while a mount point does, and
// longer while a parent that was made for it could not be removed.
type record struct {
	// Path is resolved, as those made are: who cleans up after a kill may come by
	// another name.
	Path string   `json:"path"`
	Made []string `json:"made"` // outermost first
	// Cleared: a dead mount was taken away here since the directory was made.
	Cleared bool `json:"cleared,omitempty"`
}

const (
	lockName  = "lock"
	lockWait  = 30 * time.Second // what is done under the lock takes milliseconds, on a host that is idle
	lockRetry = 5 * time.Millisecond
)

// locked does f while no other point of this state directory is made or
// removed, in this process or another.
func locked(state *disk.Dir, f func() error) error {
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockRetry) {
		lock, err := state.Lock(lockName)
		if errors.Is(err, disk.ErrLocked) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return err
		}
		return errors.Join(f(), lock.Release())
	}
}

func recordName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:12]) + ".json"
}

func remember(state *disk.Dir, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return state.WriteFile(label, recordName(r.Path), text, true)
}

// recall reads the record in a file; an empty one where there is none, or none
// that can be understood: then nothing is known to be ours.
func recall(state *disk.Dir, name string) (record, error) {
	text, err := state.ReadFile(label, name, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	var r record
	if json.Unmarshal(text, &r) != nil || recordName(r.Path) != name || !r.sound() {
		return record{}, nil
	}
	return r, nil
}

// sound reports whether a record can be one of ours: what it made is the mount
// point and directories above it. Nothing else is ever removed, whoever wrote
// the record.
func (r record) sound() bool {
	return !slices.ContainsFunc(r.Made, func(dir string) bool {
		return dir == "/" || !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || !Inside(r.Path, dir)
	})
}

// settle removes the directories of a record, and the record with the last.
func settle(state *disk.Dir, r record) error {
	for len(r.Made) > 0 {
		last := len(r.Made) - 1
		err := syscall.Rmdir(r.Made[last]) // an empty directory, never a file
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			r.Made = r.Made[:last]
		case errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST):
			return remember(state, r) // shared by now, or written to underneath
		default:
			return errors.Join(fmt.Errorf("remove mount point: %w", err), remember(state, r))
		}
	}
	err := state.Remove(label, recordName(r.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeOwed tries again to remove the parents that points left which are gone.
func removeOwed(state *disk.Dir) error {
	names, err := state.List(label)
	if err != nil {
		return err
	}
	for _, name := range names {
		r, err := recall(state, name)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(r.Path); r.Path == "" || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := settle(state, r); err != nil {
			return err
		}
	}
	return nil
}
