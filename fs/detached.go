//go:build linux || darwin

package fs

import "github.com/moby/sys/mountinfo"

// Detached is closed when the mount has left the mount table of this process's
// mount namespace, whoever took it out, and with Done at the latest. From then
// on the path leads elsewhere, while those who use the mount keep it.
//
// A mount that moved, or that something else is mounted over, has not left. On
// macOS, where no mount leaves before its last user, it is Done.
func (m *Mounted) Detached() <-chan struct{} { return m.detached }

// awaitDetached looks at the mount table whenever it changes, until the mount is
// not in it or is Done, which closes the table.
func (m *Mounted) awaitDetached(table *tableChanges) {
	defer close(m.detached)
	if !table.until(func() bool { return !m.inTree() }) {
		<-m.done
	}
}

// inTree reports whether the mount table has this very mount: a bind copy has
// another number, and a mount that moved keeps its own. Where the table cannot be
// read nothing is known to have changed.
func (m *Mounted) inTree() bool {
	here, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) {
		ours := i.ID == m.id && (device{i.Major, i.Minor}) == m.device
		return !ours, ours
	})
	return err != nil || len(here) > 0
}
