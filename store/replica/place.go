package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"memfs/store/replica/disk"
)

const (
	replicasName  = "replicas"
	conflictsName = "conflicts"
	objectsName   = "objects"
	lockName      = "lock"
)

// place is a replica's directory on disk, with its lock held. The directories
// above it stay open, so that it is made anew where somebody removes it.
type place struct {
	key  string
	dir  *disk.Dir
	lock *disk.Lock
	open []*disk.Dir // outermost first
}

// openPlace opens and locks the directory of a key, made if need be; ErrInUse
// if a process has it.
func openPlace(stateDir, key string, hook disk.Hook) (_ *place, err error) {
	p := &place{key: key}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	top, err := disk.Open(stateDir, hook)
	if err != nil {
		return nil, err
	}
	p.open = append(p.open, top)
	if p.dir, err = p.sub(top, replicasName, key); err != nil {
		return nil, err
	}
	p.lock, err = takeLock(p.dir)
	return p, err
}

// sub opens a directory below dir, which is the place's own or one above it.
func (p *place) sub(dir *disk.Dir, names ...string) (*disk.Dir, error) {
	for _, name := range names {
		below, err := dir.Sub(name)
		if err != nil {
			return nil, err
		}
		dir = below
		p.open = append(p.open, dir)
	}
	return dir, nil
}

func takeLock(dir *disk.Dir) (*disk.Lock, error) {
	lock, err := dir.Lock(lockName)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("%w (%w)", ErrInUse, err)
	}
	return lock, err
}

// relock takes the lock again where its file was wiped: nobody would see that
// the place is in use.
func (p *place) relock() error {
	if p.lock.Linked() {
		return nil
	}
	lock, err := takeLock(p.dir)
	if err != nil {
		return err
	}
	_ = p.lock.Release() // nobody can wait for it
	p.lock = lock
	return nil
}

// remove removes the place with everything in it, the lock last, and closes it.
// The conflict area, if one is named, goes with it where it is empty.
func (p *place) remove(area string) error {
	if area != "" {
		removeEmptyArea(p.open[0], area)
	}
	err := p.dir.RemoveAll("remove", lockName)
	if err == nil {
		err = p.dir.Remove("remove", lockName)
	}
	if err == nil {
		err = p.open[1].RemoveDir("remove", p.key)
	}
	p.close()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) {
		return nil // wiped, or the next owner has it already
	}
	return err
}

// removeEmptyArea tidies up. Whoever has the area open makes the directory anew
// when it is needed, so that nothing can be lost, and what fails is left to the
// next time.
func removeEmptyArea(top *disk.Dir, key string) {
	all, err := top.Sub(conflictsName)
	if err != nil {
		return
	}
	_ = all.RemoveDir("remove", key)
	_ = all.Close() // opened for looking up names only
}

func (p *place) close() {
	if p.lock != nil {
		_ = p.lock.Release() // closing the file releases it in any case
	}
	for _, dir := range slices.Backward(p.open) {
		_ = dir.Close() // opened for looking up names only
	}
}
