//go:build linux || darwin

package fs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// device tells filesystems apart: st_dev as the kernel's tables show it. It is
// zero on macOS.
type device struct{ major, minor int }

// MountInfo is a memfs mount of this host, as far as this process's mount
// namespace shows it, live or dead.
type MountInfo struct {
	Path    string
	StoreID string
	// ReadOnly is set for mounts that refuse writes.
	ReadOnly bool

	device device
	id     int
	source string
	memfs  bool
}

// Mounts lists the memfs mounts, those mounted later behind those mounted
// before. It touches none of them.
func Mounts() ([]MountInfo, error) {
	all, err := mountTable(nil)
	if err != nil {
		return nil, err
	}
	var ours []MountInfo
	for _, m := range all {
		if m.memfs {
			ours = append(ours, m)
		}
	}
	return ours, nil
}

// mountsAt lists the FUSE mounts at a path, the one on top last.
func mountsAt(path string) ([]MountInfo, error) {
	return mountTable(entriesAt(path))
}

// entriesAt takes every entry of a path, and not the first alone, which is the
// one at the bottom.
func entriesAt(path string) mountinfo.FilterFunc {
	return func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != path, false }
}

// mountTable lists the FUSE mounts.
func mountTable(filter mountinfo.FilterFunc) ([]MountInfo, error) {
	table, err := mountinfo.GetMounts(filter)
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	return fuseMounts(table), nil
}

// fuseMounts are the FUSE mounts of a table.
func fuseMounts(table []*mountinfo.Info) []MountInfo {
	var mounts []MountInfo
	for _, m := range table {
		if !strings.Contains(m.FSType, "fuse") || m.FSType == "fusectl" {
			continue
		}
		id, memfs := strings.CutPrefix(m.Source, sourcePrefix)
		mounts = append(mounts, MountInfo{
			Path: m.Mountpoint, StoreID: id, device: device{m.Major, m.Minor}, id: m.ID, source: m.Source, memfs: memfs,
			ReadOnly: strings.HasPrefix(m.Options, "ro,") || m.Options == "ro",
		})
	}
	return mounts
}

// staleTimeout bounds the question whether a mount is alive. One that does not
// answer belongs to a process that hangs, not to one that died.
const staleTimeout = 5 * time.Second

// Stale reports whether a path is a FUSE mount whose process died.
//
// It asks for statfs, which the kernel never answers by itself: stat of a dead
// mount may succeed from its cache for as long as attributes are kept.
func Stale(path string) bool {
	answer := make(chan error, 1)
	go func() {
		var stat unix.Statfs_t
		answer <- unix.Statfs(path, &stat)
	}()
	timeout := time.NewTimer(staleTimeout)
	defer timeout.Stop()
	select {
	case err := <-answer:
		return errors.Is(err, unix.ENOTCONN)
	case <-timeout.C:
		return false
	}
}

// Detach takes dead memfs mounts away from a path; there may be several. It
// leaves alone what lives or is not memfs's.
func Detach(path string) error {
	path, err := realPath(path)
	if err != nil {
		return err
	}
	for {
		here, err := mountsAt(path)
		if err != nil {
			return err
		}
		if len(here) == 0 || !here[len(here)-1].memfs || !Stale(path) {
			return nil
		}
		if err := unmountLazily(path); err != nil {
			return fmt.Errorf("detach the dead mount at %s: %w", path, err)
		}
	}
}

// clearPath makes a path free of dead memfs mounts; a live mount is ErrMounted.
func clearPath(path string, log *zap.Logger) error {
	before, err := mountsAt(path)
	if err != nil || len(before) == 0 {
		return err
	}
	if err := Detach(path); err != nil {
		return err
	}
	if err := checkFree(path); err != nil {
		return err
	}
	log.Warn("cleaned away a dead mount", zap.String("code", "stale_mount"), zap.String("previous_store", before[0].StoreID))
	return nil
}

// checkFree is ErrMounted where a FUSE filesystem is mounted.
func checkFree(path string) error {
	here, err := mountsAt(path)
	if err != nil {
		return err
	}
	if len(here) > 0 {
		return fmt.Errorf("%s is %w (%s)", path, ErrMounted, here[len(here)-1].source)
	}
	return nil
}

// claim makes sure that nobody else mounts at a path until release: the kernel
// would put a second mount on top of a first without a word.
func claim(path string) (release func(), err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("%s is %w or about to be, by another process", path, ErrMounted)
	case err == nil:
		err = checkFree(path)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return func() { _ = unix.Close(fd) }, nil
}
