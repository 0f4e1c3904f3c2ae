package mountpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"memfs/store/replica/disk"
)

// Several processes use one directory where each mounts in a mount namespace of
// its own, and a directory that is removed takes the mounts of all with it. So
// each holds a lock beside the directory's record while it uses it. All of this
// is done with the state directory locked.

const useSuffix = ".use"

func usePrefix(path string) string { return recordName(path) + "." }

// use notes that this process uses the directory.
func (p *Point) use() error {
	for i := 0; ; i++ {
		name := fmt.Sprint(usePrefix(p.path), i, useSuffix)
		lock, err := p.state.Lock(name)
		if errors.Is(err, disk.ErrLocked) {
			continue
		}
		p.used, p.useName = lock, name
		return err
	}
}

// unused gives that up, and reports whether nobody else uses the directory.
func (p *Point) unused() (bool, error) {
	if p.used == nil {
		return true, nil
	}
	err := p.drop(p.used, p.useName)
	if p.used = nil; err != nil {
		return false, err
	}
	names, err := p.state.List(label)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, usePrefix(p.path)) || !strings.HasSuffix(name, useSuffix) {
			continue
		}
		lock, err := p.state.Lock(name)
		if errors.Is(err, disk.ErrLocked) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := p.drop(lock, name); err != nil { // of a killed process
			return false, err
		}
	}
	return true, nil
}

// drop gives a lock up with its file, which may have been wiped.
func (p *Point) drop(lock *disk.Lock, name string) error {
	err := p.state.Remove(label, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, lock.Release())
}
