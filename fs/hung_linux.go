package fs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// connectionsDir has a directory for every FUSE connection of the host, named
// by the minor number of its device, where fusectl is mounted. The user who
// mounted may end it there.
const connectionsDir = "/sys/fs/fuse/connections"

// Hung reports whether a process was killed and cannot end. That happens to one
// that is killed while it tells the kernel of a change: its thread waits in the
// kernel for a directory's lock, whoever has the lock waits for an answer of the
// process, and as long as the thread is there the kernel takes the mount to be
// served.
func Hung(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name, in brackets, may contain anything.
	fields := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return strings.HasPrefix(fields, " Z")
}

// EndHung ends the connections of the memfs mounts that a hung process has at
// paths, in whatever mount namespace: who waits there gets ENOTCONN, the
// process ends, and dead mounts are left. *HungError where this user may not.
func EndHung(pid int, paths []string) error {
	wanted := make(map[string]bool, len(paths))
	for _, path := range paths {
		if real, err := realPath(path); err == nil {
			path = real
		}
		wanted[path] = true
	}
	mounts, err := mountsOf(pid)
	for _, m := range mounts {
		if m.memfs && wanted[m.Path] {
			err = errors.Join(err, m.abort(pid))
		}
	}
	return err
}

// mountsOf lists the FUSE mounts that a hung process sees. Its first thread has
// ended and sees nothing any more; those that hang do.
func mountsOf(pid int) ([]MountInfo, error) {
	tables, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	var mounts []MountInfo
	for _, name := range tables {
		table, err := os.Open(name)
		if err != nil {
			continue
		}
		found, err := mountinfo.GetMountsFromReader(table, nil)
		if err = errors.Join(err, table.Close()); err != nil {
			continue
		}
		mounts = append(mounts, fuseMounts(found)...)
	}
	return mounts, nil
}

// abort ends the connection of a mount.
func (m MountInfo) abort(pid int) error {
	name := filepath.Join(connectionsDir, strconv.Itoa(m.device.minor), "abort")
	if os.WriteFile(name, []byte("1"), 0) == nil {
		return nil
	}
	here, err := mountsAt(m.Path)
	if err != nil {
		return err
	}
	if !privileged() || !slices.ContainsFunc(here[max(0, len(here)-1):], func(top MountInfo) bool { return top.device == m.device }) {
		return &HungError{Path: m.Path, PID: pid}
	}
	// The connection is ended first, whatever becomes of the mount.
	err = unix.Unmount(m.Path, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("end the hung mount at %s: %w", m.Path, err)
	}
	return nil
}
