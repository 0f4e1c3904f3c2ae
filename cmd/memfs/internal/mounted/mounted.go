// Package mounted is what a command sees of memfs mounts from outside: the
// mount table, the attributes that mounts show of themselves, and files. It
// needs neither the control socket nor the API, so it works where nothing but
// the mount can be seen. The process that serves a mount never uses it.
package mounted

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"memfs"
	"memfs/fs"
	"memfs/store"
)

// ErrNotMounted: the path does not lie in a memfs mount.
var ErrNotMounted = errors.New("not in a memfs mount")

// Mount is a live memfs mount.
type Mount struct {
	// Root is where it is mounted.
	Root    string
	StoreID string
	// Status is the mount's own account of itself. Where an older memfs serves
	// it, Sync is zero.
	Status memfs.Status
}

// At finds the mount that a path lies in. The path is absolute and spelled as
// the mount table has it; nothing has to stand there.
func At(path string) (Mount, error) {
	mounts, err := fs.Mounts()
	if err != nil {
		return Mount{}, err
	}
	var best fs.MountInfo
	for _, m := range mounts { // of several at one path the last is on top
		if within(path, m.Path) && len(m.Path) >= len(best.Path) {
			best = m
		}
	}
	if best.Path == "" {
		return Mount{}, fmt.Errorf("%s is %w", path, ErrNotMounted)
	}
	return look(best)
}

// Of finds the live mounts of a store.
func Of(storeID string) ([]Mount, error) {
	infos, err := fs.Mounts()
	if err != nil {
		return nil, err
	}
	var mounts []Mount
	for _, info := range infos {
		if info.StoreID != storeID {
			continue
		}
		if m, err := look(info); err == nil { // else it is dead, or hidden from us
			mounts = append(mounts, m)
		}
	}
	return mounts, nil
}

func look(info fs.MountInfo) (Mount, error) {
	if fs.Stale(info.Path) {
		return Mount{}, fmt.Errorf("the process that served the mount at %s is dead: memfs unmount %s cleans up", info.Path, info.Path)
	}
	m := Mount{Root: info.Path, StoreID: info.StoreID}
	err := m.Refresh()
	return m, err
}

// Refresh reads the mount's status anew.
func (m *Mount) Refresh() error {
	text, err := attribute(m.Root, "status")
	if err != nil {
		return fmt.Errorf("the mount at %s does not tell its status: %w", m.Root, err)
	}
	return json.Unmarshal([]byte(text), &m.Status)
}

// Writable reports whether what is written in the mount reaches the store.
func (m *Mount) Writable() bool { return !m.Status.ReadOnly }

// Path is where a memory stands in the mount.
func (m *Mount) Path(memory string) (string, error) {
	if err := store.CheckPath(memory); err != nil {
		return "", err
	}
	return filepath.Join(m.Root, filepath.FromSlash(memory)), nil
}

// Memory is the path in the store of a file in the mount; "/" for the root.
func (m *Mount) Memory(file string) string {
	return "/" + strings.TrimPrefix(strings.TrimPrefix(file, m.Root), "/")
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// attribute is one of the attributes user.memfs.*; "" where it is not there.
func attribute(path, name string) (string, error) {
	value := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Lgetxattr(path, "user.memfs."+name, value)
	switch {
	case errors.Is(err, errNoAttribute):
		return "", nil
	case err != nil:
		return "", err
	}
	return string(value[:n]), nil
}
