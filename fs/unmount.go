//go:build linux || darwin

package fs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// busyRetry is how long to wait before a busy mount is tried again; the kernel
// tells nobody when the last file is closed.
const busyRetry = 100 * time.Millisecond

// BusyError says that a mount was taken out of the tree while in use. It is
// served until Done, or until this process ends.
type BusyError struct {
	Path string
	// Holders are those found using it, as far as this process may see them.
	Holders []Holder
}

func (e *BusyError) Error() string {
	if len(e.Holders) == 0 {
		return fmt.Sprintf("%s was in use and is detached lazily", e.Path)
	}
	names := make([]string, len(e.Holders))
	for i, h := range e.Holders {
		names[i] = h.String()
	}
	return fmt.Sprintf("%s was in use by %s and is detached lazily", e.Path, strings.Join(names, ", "))
}

// Holder is a process that keeps a mount busy.
type Holder struct {
	PID     int
	Command string
	// Uses says with what: "cwd", "root", "exe", "map", "fd 3", or "mount
	// namespace", which has the mount as well.
	Uses []string
}

func (h Holder) String() string {
	return fmt.Sprintf("%s (pid %d: %s)", h.Command, h.PID, strings.Join(h.Uses, ", "))
}

// Unmount unmounts. It ends the notifications to the kernel first. While the
// mount is in use it tries again until ctx ends; then it detaches the mount
// lazily and returns a *BusyError: the path is free, those who use the mount
// keep it, and it is served until Done.
//
// A mount that somebody else unmounted already is no error.
func (m *Mounted) Unmount(ctx context.Context) error {
	select {
	case <-m.notifier.disarm():
	case <-ctx.Done():
	}
	retry := time.NewTicker(busyRetry)
	defer retry.Stop()
	for path := m.place(); m.attached(path); path = m.place() {
		if m.covered(path) {
			return fmt.Errorf("unmount %s: %w", path, ErrCovered)
		}
		err := unmount(path)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
		select {
		case <-m.done:
			return nil
		case <-retry.C:
			continue
		case <-ctx.Done():
		}
		return m.detach(path)
	}
	// Other mount namespaces may still have the mount.
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return &BusyError{Path: m.path, Holders: m.Busy()}
	}
}

func (m *Mounted) detach(path string) error {
	busy := &BusyError{Path: path, Holders: m.Busy()}
	if err := unmountLazily(path); err != nil {
		return fmt.Errorf("detach %s: %w", path, err)
	}
	m.log.Warn("mount in use, detached lazily", zap.String("code", "mount_busy"), zap.Stringers("holders", busy.Holders))
	return busy
}

// ErrCovered: something that is not memfs's is mounted over the mount. It is left
// alone, and the mount below it dies with this process.
var ErrCovered = errors.New("another filesystem is mounted over it; unmount that first")

// covered reports whether something else than a FUSE filesystem is on top at
// the path.
func (m *Mounted) covered(path string) bool {
	here, err := mountinfo.GetMounts(entriesAt(path))
	return err == nil && len(here) > 0 && (device{here[len(here)-1].Major, here[len(here)-1].Minor}) != m.device
}

// attached reports whether this mount, and no other, is on top at a path. It is
// false after somebody else unmounted it lazily, though it is served for as long
// as somebody uses it (Done).
func (m *Mounted) attached(path string) bool {
	select {
	case <-m.done: // the kernel gives its device to the next mount
		return false
	default:
	}
	here, err := mountsAt(path)
	return err == nil && len(here) > 0 && here[len(here)-1].device == m.device
}

// place is where the mount is now: where it was mounted, or where it went since,
// by itself or with a directory above it that was renamed.
func (m *Mounted) place() string {
	if m.attached(m.path) || m.device == (device{}) {
		return m.path
	}
	moved, err := mountTable(func(i *mountinfo.Info) (skip, stop bool) {
		return i.Root != "/" || i.Source != m.source || (device{i.Major, i.Minor}) != m.device, false
	})
	if err != nil || len(moved) == 0 {
		return m.path
	}
	return moved[0].Path
}
