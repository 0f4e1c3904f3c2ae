package replica

import (
	"memfs/store"
)

// tree is the whole state of a replica in memory: what the journal's records
// make when they are applied in order. It does no input or output; the
// replica's lock guards it.
type tree struct {
	scratch Patterns
	nodes   map[Ino]*node
	root    *node
	nextIno Ino
	nextSeq uint64
	// replaying: later records may still concern nodes without a name.
	replaying bool

	// bases holds base by memory id, basePath finds the id by path.
	bases    map[string]*agreed
	basePath map[string]string
	sends    map[uint64]Send
	// counted are the deletes sent of late, oldest first.
	counted []Delete

	// dirtyFiles and dirtyMemories may differ from base; snapshots look at
	// them alone and drop those that turn out clean.
	dirtyFiles    map[Ino]struct{}
	strays        map[Ino]*node
	dirtyMemories map[string]struct{}
	// vacated are the names that local changes took from files of late.
	vacated map[string]vacancy

	made         int   // nodes made here, with or without a name
	memories     int   // linked files that are not scratch by name
	scratchBytes int64 // in files that are
	heldBytes    int64 // in files that were, and have no name any more
	contentBytes int64 // in the others
}

// agreed is one memory of base and the file that carries its id.
type agreed struct {
	Base
	carrier        *node
	touched, first int64
	verdict        Verdict
}

func newTree(scratch Patterns) *tree {
	t := &tree{
		scratch: scratch, nodes: make(map[Ino]*node), nextIno: Root + 1, nextSeq: 1,
		bases: make(map[string]*agreed), basePath: make(map[string]string), sends: make(map[uint64]Send),
		dirtyFiles: make(map[Ino]struct{}), strays: make(map[Ino]*node), dirtyMemories: make(map[string]struct{}),
		vacated: make(map[string]vacancy),
	}
	t.root = &node{ino: Root, dir: true, made: true}
	t.nodes[Root] = t.root
	return t
}

// at finds the node at a path of the store. Where the path goes through a
// file, that file is returned with ok false.
func (t *tree) at(path string) (n *node, ok bool) {
	n = t.root
	for rest := path; rest != ""; {
		var name string
		name, rest = cutName(rest)
		if !n.dir {
			return n, false
		}
		child := n.children[name]
		if child == nil {
			return nil, false
		}
		n = child
	}
	return n, true
}

// cutName splits "/a/b/c" into "a" and "/b/c".
func cutName(path string) (name, rest string) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			return path[1:i], path[i:]
		}
	}
	return path[1:], ""
}

// isMarker reports whether n is the marker file at the root (R13).
func (t *tree) isMarker(n *node) bool {
	return n.parent == t.root && n.name == store.MarkerName && !n.dir
}

// isScratch reports whether a linked file is local only (R17): by its name,
// unless the store holds that very path, or the file is a memory that was
// moved there and nothing took its old place.
func (t *tree) isScratch(n *node) bool {
	if !n.local {
		return false
	}
	if _, held := t.basePath[n.path()]; held {
		return false
	}
	if b := t.bases[n.memory]; b != nil {
		if old, ok := t.at(b.Path); !ok || old.dir {
			return false
		}
	}
	return true
}

// eligible reports whether a linked file may be a memory.
func (t *tree) eligible(n *node) bool {
	return n.parent != nil && !n.dir && !t.isMarker(n) && !t.isScratch(n)
}

// clean reports whether memory b is in the tree just as base says.
func (t *tree) clean(b *agreed) bool {
	n, ok := t.at(b.Path)
	return ok && !n.dir && n == b.carrier && (n.content.buf == nil || n.content.hashed) && n.content.sha == b.SHA
}

// markFile notes that a file may differ from base since now.
func (t *tree) markFile(n *node, now int64) {
	if n.dir {
		return
	}
	n.gen++
	if n.since == 0 {
		n.since = now
	}
	t.dirtyFiles[n.ino] = struct{}{}
}

// touchPath notes that a local change concerned the memory that base has at a
// path, if any.
func (t *tree) touchPath(path string, now int64) {
	if id, ok := t.basePath[path]; ok {
		t.touchMemory(id, now)
	}
}

func (t *tree) touchMemory(id string, now int64) {
	b := t.bases[id]
	if b == nil {
		return
	}
	b.touched = now
	if b.first == 0 {
		b.first = now
	}
	t.dirtyMemories[id] = struct{}{}
}

// place gives a node a name, and takes it and what is below into the sums.
func (t *tree) place(dir, n *node, name string) {
	dir.link(n, name)
	n.files(func(f *node) {
		t.hold(f, -1)
		f.local = t.scratch.Match(f.path())
		t.count(f, 1)
	})
}

// displace takes a node's name away, and it and what is below from the sums.
func (t *tree) displace(n *node) {
	n.files(func(f *node) {
		t.count(f, -1)
		t.hold(f, 1)
	})
	n.parent.unlink(n)
}

// hold adds a local-only file that lost its name to the sum of those, or with
// sign -1 takes it from it.
func (t *tree) hold(n *node, sign int) {
	if n.local {
		t.heldBytes += int64(sign) * n.content.size
	}
}

// count adds a linked file to the sums, or with sign -1 takes it from them.
func (t *tree) count(n *node, sign int) {
	if t.isMarker(n) {
		return
	}
	if n.local {
		t.scratchBytes += int64(sign) * n.content.size
		return
	}
	t.memories += sign
	t.contentBytes += int64(sign) * n.content.size
}

// resize changes a linked or orphaned file's size and the sums with it.
func (t *tree) resize(n *node, size int64) {
	sum := t.hold
	if n.parent != nil {
		sum = t.count
	}
	sum(n, -1)
	n.content.size = size
	sum(n, 1)
}

// carry makes n the file that carries memory id; nil takes it from everybody.
func (t *tree) carry(n *node, id string) {
	if n != nil && n.memory != "" && n.memory != id {
		if old := t.bases[n.memory]; old != nil && old.carrier == n {
			old.carrier = nil
			t.dirtyMemories[n.memory] = struct{}{}
		}
	}
	if b := t.bases[id]; b != nil {
		if b.carrier != nil && b.carrier != n {
			b.carrier.memory = ""
			t.dirtyFiles[b.carrier.ino] = struct{}{}
		}
		b.carrier = n
		t.dirtyMemories[id] = struct{}{}
	}
	if n != nil {
		n.memory = id
		t.dirtyFiles[n.ino] = struct{}{}
	}
}
