//go:build linux || darwin

package fs

import (
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"

	"memfs/store/replica"
)

// kernel is the part of a go-fuse server that tells the kernel what changed.
type kernel interface {
	EntryNotify(parent uint64, name string) fuse.Status
	DeleteNotify(parent, child uint64, name string) fuse.Status
	InodeNotify(node uint64, off, length int64) fuse.Status
}

// notifier tells the kernel, from one goroutine and in order, of changes that
// did not come through it.
//
// A notification waits inside the kernel for the directory's lock, and whoever
// has that lock may be waiting for an answer of this process. So changed only
// queues: it may be called from a handler and with locks held, and the
// goroutine that notifies holds none.
//
// The lock also makes the order right: a lookup or listing that was answered
// before the change is in the kernel's cache before the notification drops it.
type notifier struct {
	tree Tree
	log  *zap.Logger

	mu       sync.Mutex
	queue    []news
	disarmed bool
	wake     chan struct{} // holds one token while there is something to do
	done     chan struct{} // closed when the goroutine ended; nil before start
}

// news is one set of changes that were made together, or, with told, the
// wish to hear when all before it is told.
type news struct {
	set  []replica.Change
	told chan struct{}
}

func newNotifier(tree Tree, log *zap.Logger) *notifier {
	return &notifier{tree: tree, log: log, wake: make(chan struct{}, 1)}
}

// changed queues changes that were made together.
func (n *notifier) changed(set []replica.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disarmed {
		return
	}
	n.queue = append(n.queue, news{set: set})
	n.signal()
}

// told is closed once the kernel knows of everything that was queued so far, or
// is told nothing any more.
func (n *notifier) told() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	told := make(chan struct{})
	if n.disarmed {
		close(told)
		return told
	}
	n.queue = append(n.queue, news{told: told})
	n.signal()
	return told
}

// start begins to notify k, with what was queued so far.
func (n *notifier) start(k kernel) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disarmed || n.done != nil {
		return
	}
	n.done = make(chan struct{})
	go n.run(k, n.done)
}

// disarm drops what is queued and ends the goroutine. The channel is closed
// once nothing is notified any more.
func (n *notifier) disarm() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disarmed = true
	for _, dropped := range n.queue {
		dropped.answer()
	}
	n.queue = nil
	n.signal()
	if n.done == nil {
		n.done = make(chan struct{})
		close(n.done)
	}
	return n.done
}

// signal is called with n.mu held.
func (n *notifier) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run(k kernel, done chan struct{}) {
	defer close(done)
	for range n.wake {
		for {
			next, more := n.next()
			if !more {
				break
			}
			n.notify(k, next.set)
			next.answer()
		}
		if n.ended() {
			return
		}
	}
}

func (n *notifier) next() (news, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 {
		return news{}, false
	}
	next := n.queue[0]
	n.queue = slices.Delete(n.queue, 0, 1)
	return next, true
}

func (n news) answer() {
	if n.told != nil {
		close(n.told)
	}
}

func (n *notifier) ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.disarmed
}

// notify tells of one set of changes: names first, then the directories, whose
// listings and times the kernel drops even where it never looked up a name.
func (n *notifier) notify(k kernel, set []replica.Change) {
	var parents []replica.Ino
	for _, c := range set {
		n.name(k, c)
		if !slices.Contains(parents, c.Parent) {
			parents = append(parents, c.Parent)
		}
	}
	for _, parent := range parents {
		n.check("directory", k.InodeNotify(uint64(parent), 0, 0), parent, "")
	}
}

// name tells of one name. An inode that lost its name for good is reported as
// deleted: those who have it open keep it, a shell that stands in it sees that
// it is gone, and the kernel forgets it with the last of them. Everything else
// is dropped from the cache and looked up again.
func (n *notifier) name(k kernel, c replica.Change) {
	if c.Old != 0 && n.gone(c.Old) {
		code := k.DeleteNotify(uint64(c.Parent), uint64(c.Old), c.Name)
		n.check("deleted", code, c.Parent, c.Name)
		return
	}
	n.check("entry", k.EntryNotify(uint64(c.Parent), c.Name), c.Parent, c.Name)
}

func (n *notifier) gone(ino replica.Ino) bool {
	a, err := n.tree.Getattr(ino)
	return err != nil || a.Nlink == 0
}

// check logs what should not happen. The kernel answers ENOENT for what it does
// not have cached, which is as good as dropped, and ENOTEMPTY where a directory
// that it was told is gone had other names cached, which are dropped too.
func (n *notifier) check(what string, code fuse.Status, parent replica.Ino, name string) {
	switch syscall.Errno(code) {
	case 0, syscall.ENOENT, syscall.ENOTEMPTY, syscall.ENOTDIR, syscall.EBUSY:
		return
	}
	if n.ended() {
		return
	}
	n.log.Warn("the kernel refused a cache notification", zap.String("code", "kernel_notice"), zap.String("kind", what),
		zap.Uint64("directory", uint64(parent)), zap.String("name", name), zap.Stringer("status", code))
}
