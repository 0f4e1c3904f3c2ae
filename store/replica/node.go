package replica

import (
	"slices"
	"sort"
	"strings"
	"time"

	"memfs/store"
)

// node is a file or directory of the tree.
type node struct {
	ino    Ino
	parent *node // nil for the root and for nodes without a name
	name   string
	dir    bool

	mode, uid, gid             uint32
	atime, mtime, ctime, btime int64 // nanoseconds since 1970

	// Of directories: names, and the entries in the order of their cookies.
	children map[string]*node
	entries  []*node
	lastC    uint64 // the cookie given last in this directory
	cookie   uint64 // this node's own, in its parent
	subdirs  uint32
	made     bool // made here, so it stays when it empties remotely

	// Of files.
	content content
	before  *content // what the file held before it was emptied (R16)
	memory  string   // id of the memory the file carries
	gen     uint64   // moves with every change of content, name or place
	written int64
	moved   int64
	since   int64 // first differed from base; 0 while it does not
	earlier int64 // since when what had its name before it did; 0 for nothing
	emptied bool
	failed  bool
	// failedAt is when, in this process; 0 is long ago: a save that failed
	// before memfs started is over.
	failedAt int64
	damaged  bool // the content cannot be read back
	local    bool // scratch by name and place

	// Of files that lost their name to a remote change.
	replaced     bool
	replacedID   string
	replacedPath string

	refs   uint64 // how often the kernel knows it
	unseen bool   // put at its name by a remote change, and not looked up since
	state  State  // what reconcile said of generation stateG
	stateG uint64
	reason string
}

// content is a file's bytes: either here in memory (buf), or an object known
// by its hash, which is on disk or can be fetched from the store.
type content struct {
	// buf is the content while it was changed here; nil otherwise.
	buf []byte
	// hashed says that sha is the hash of buf.
	hashed bool
	sha    store.SHA
	size   int64
	// memory and version say where the store has the content; "" when it was
	// made here.
	memory, version string
}

// empty is the content of a new file.
func empty() content { return content{sha: store.Hash(nil), hashed: true} }

func (n *node) isRoot() bool { return n.ino == Root }

// linked reports whether the node has a name, or is the root.
func (n *node) linked() bool { return n.parent != nil || n.isRoot() }

// path is the node's place in the store: "/a/b"; "" for the root.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	depth, size := 0, 0
	for m := n; m.parent != nil; m = m.parent {
		depth++
		size += len(m.name) + 1
	}
	names := make([]string, depth)
	for m := n; m.parent != nil; m = m.parent {
		depth--
		names[depth] = m.name
	}
	var b strings.Builder
	b.Grow(size)
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(name)
	}
	return b.String()
}

// under reports whether n is dir or below it.
func (n *node) under(dir *node) bool {
	for m := n; m != nil; m = m.parent {
		if m == dir {
			return true
		}
	}
	return false
}

// files calls f for every file at or below n.
func (n *node) files(f func(*node)) {
	if !n.dir {
		f(n)
		return
	}
	for _, child := range n.entries {
		child.files(f)
	}
}

func (n *node) link(child *node, name string) {
	if n.children == nil {
		n.children = make(map[string]*node)
	}
	n.lastC++
	child.parent, child.name, child.cookie = n, name, n.lastC
	n.children[name] = child
	n.entries = append(n.entries, child)
	if child.dir {
		n.subdirs++
	}
}

func (n *node) unlink(child *node) {
	delete(n.children, child.name)
	if i := n.after(child.cookie - 1); i < len(n.entries) && n.entries[i] == child {
		n.entries = slices.Delete(n.entries, i, i+1)
	}
	if child.dir {
		n.subdirs--
	}
	child.parent = nil
}

// after is the index of the first entry with a cookie over c.
func (n *node) after(c uint64) int {
	return sort.Search(len(n.entries), func(i int) bool { return n.entries[i].cookie > c })
}

func (n *node) attr() Attr {
	a := Attr{Ino: n.ino, Dir: n.dir, Mode: n.mode, UID: n.uid, GID: n.gid, Size: n.content.size,
		Atime: time.Unix(0, n.atime), Mtime: time.Unix(0, n.mtime), Ctime: time.Unix(0, n.ctime), Btime: time.Unix(0, n.btime)}
	switch {
	case !n.linked():
		a.Nlink = 0
	case n.dir:
		a.Nlink = 2 + n.subdirs
	default:
		a.Nlink = 1
	}
	return a
}

// when is the time a nanosecond count stands for; zero for 0.
func when(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// nanos is the inverse of when.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
