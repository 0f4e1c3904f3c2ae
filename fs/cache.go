//go:build linux || darwin

package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store"
	"memfs/store/replica"
)

// What the kernel may keep, all of it here. A round trip to this process costs
// 10 to 20 µs where the kernel's own answer costs 1.
//
// Names and attributes are kept for long because every change that does not
// come through the kernel is notified. Pages are kept because the content of a
// known inode changes through the kernel only: a remote change gives the name
// another inode (R2). That is also why the kernel must not guess from mtime
// when to drop them (ExplicitDataCacheControl): touch, cp -p and each write of
// the kernel's own would cost all pages read so far.
//
// What the kernel asks all the same, for it has no way to be told: a
// directory's attributes after each change in it, which permission checks on
// the way to any name in it need; a name before it is created, and the target of
// a rename; a name that has two Unicode forms, each time; security.capability
// before a write, once each time that it has looked at the file's attributes
// (ENOSYS would end that, and user.memfs with it). A new file with a text costs
// five round trips, an append one or two.
const cacheTimeout = time.Hour

const (
	// maxWrite is the largest request in bytes; a memory of the largest size
	// is written in one.
	maxWrite = 128 << 10
	// maxBackground is how many readaheads may be under way. With three
	// quarters of them waiting for content that is not fetched, everybody's
	// reads would go page by page; of the kernel's own 12 that is 9.
	maxBackground = 128
)

// cachePolicy sets what is agreed on once for a mount.
//
// Not asked for: ATOMIC_O_TRUNC, since without a message for open every
// O_TRUNC would be lost; WRITEBACK_CACHE, since the kernel would take size and
// mtime for its own and show new bytes cut at the old size; passthrough, since
// registering a file costs more than reading it.
func cachePolicy(o *fuse.MountOptions) {
	o.ExplicitDataCacheControl = true
	o.MaxWrite = maxWrite
	o.MaxBackground = maxBackground
	o.ExtraCapabilities |= platformCapabilities
	o.DisabledCapabilities |= fuse.CAP_PASSTHROUGH
	// Locks kept by the kernel work: there is one mount of a replica.
	o.EnableLocks = false
	// All data is in memory; there is no file to splice from.
	o.DisableSplice = true
}

// Open is answered with ENOSYS where the kernel knows what that means: it
// opens and closes without asking from then on, and keeps the pages.
func (f *filesystem) Open(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return openStatus
}

// OpenDir is answered like Open. The kernel then keeps listings too, until the
// directory changes through the kernel or by a notification.
func (f *filesystem) OpenDir(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_CACHE_DIR
	return openStatus
}

// Flush is never asked for again after ENOSYS: a close costs nothing. Writes
// are in the journal already when they are answered.
func (f *filesystem) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

// entryTimeout is how long the kernel may keep what a name stands for. A name
// that has two forms it must ask for each time (R12): a change by the one would
// be told of to who kept the other only after it was answered, and what was then
// written to the file that the name stood for before would be lost.
func entryTimeout(name string) time.Duration {
	if !store.OneForm(name) {
		return 0
	}
	return cacheTimeout
}

// entry answers with what a name stands for. The attr holds the reference that
// the kernel counts.
func entry(out *fuse.EntryOut, name string, a replica.Attr) {
	out.NodeId = uint64(a.Ino)
	out.SetEntryTimeout(entryTimeout(name))
	out.SetAttrTimeout(cacheTimeout)
	fillAttr(&out.Attr, a)
}

// noEntry answers that there is no such name, in the way that lets the kernel
// remember it.
func noEntry(out *fuse.EntryOut, name string) fuse.Status {
	timeout := entryTimeout(name)
	if timeout == 0 {
		return fuse.ENOENT
	}
	out.NodeId = 0
	out.SetEntryTimeout(timeout)
	return fuse.OK
}

// aliased has the kernel look again at the kept form of a name that was changed
// through another form of it, for letters that Unicode has twice (store.OneForm).
func (f *filesystem) aliased(parent replica.Ino, name string) {
	if kept := store.NormalName(name); kept != name {
		f.notifier.changed([]replica.Change{{Parent: parent, Name: kept}})
	}
}
