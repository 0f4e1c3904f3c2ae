package replica

import "time"

// update collects the records and the kernel's news of one set of remote
// changes. It reads the tree and changes nothing.
type update struct {
	r       *Replica
	now     uint64
	nextIno Ino
	records []record
	changes []Change
	dirs    map[string]Ino // directories made by this set
	freed   map[*node]struct{}
	left    []*node // directories that lost an entry
}

func newUpdate(r *Replica) *update {
	return &update{r: r, now: r.now(), nextIno: r.tree.nextIno, dirs: make(map[string]Ino), freed: make(map[*node]struct{})}
}

// recordsOfStep is how many records a new memory takes: the file, its content,
// base, and that the file carries it.
const recordsOfStep = 4

// expect makes room for so many steps, and a directory for every eighth: a whole
// store may arrive in one set.
func (u *update) expect(steps int) {
	u.records = make([]record, 0, recordsOfStep*steps+steps/8)
	u.changes = make([]Change, 0, steps)
}

// free takes names away.
func (u *update) free(a Apply) {
	n := u.r.tree.nodes[a.Ino]
	if n == nil || a.Place == KeepTree {
		return
	}
	if n.parent == nil {
		u.records = append(u.records, record{kind: recSaved, ino: uint64(n.ino)})
		return
	}
	u.freed[n] = struct{}{}
	u.left = append(u.left, n.parent)
	change := Change{Parent: n.parent.ino, Name: n.name, Old: n.ino}
	rec := record{kind: recDetach, ino: uint64(n.ino), time: u.now}
	if a.Place == MoveFile {
		change.Old = 0
		rec.kind = recLift
	}
	u.changes = append(u.changes, change)
	u.records = append(u.records, rec)
}

// place gives names, and moves base.
func (u *update) place(a Apply) {
	switch a.Place {
	case PutFile:
		u.putFile(a)
	case MoveFile:
		dir, name := u.dirFor(a.Base.Path)
		u.records = append(u.records, record{kind: recPlace, ino: uint64(a.Ino), parent: uint64(dir), name: name, time: u.now})
		u.changes = append(u.changes, Change{Parent: dir, Name: name})
		u.agree(a, a.Ino)
	case DropFile:
		if a.ID != "" {
			u.agree(a, 0)
		}
	case KeepTree:
		u.agree(a, a.Ino)
	}
}

func (u *update) putFile(a Apply) {
	b := a.Base
	mode, uid, gid := u.r.o.FileMode, u.r.o.UID, u.r.o.GID
	mtime := nanos(b.UpdatedAt)
	if old := u.r.tree.nodes[a.Ino]; old != nil {
		mode, uid, gid = old.mode, old.uid, old.gid
		// Pollers by mtime must see that the text is another one.
		mtime = max(mtime, old.mtime+int64(time.Millisecond))
	}
	dir, name := u.dirFor(b.Path)
	ino := u.nextIno
	u.nextIno++
	u.records = append(u.records,
		record{kind: recNode, ino: uint64(ino), parent: uint64(dir), name: name, mode: uint64(mode), uid: uint64(uid), gid: uint64(gid),
			atime: uint64(mtime), mtime: uint64(mtime), ctime: u.now, btime: uint64(nanos(b.CreatedAt))},
		contentRecord(ino, content{sha: b.SHA, size: b.Size, memory: b.ID, version: b.VersionID}, recContent))
	u.changes = append(u.changes, Change{Parent: dir, Name: name})
	u.agree(a, ino)
}

// agree moves base, and lets a file carry the memory.
func (u *update) agree(a Apply, ino Ino) {
	if a.Base == nil {
		u.records = append(u.records, record{kind: recUnbase, id: a.ID})
		return
	}
	u.records = append(u.records, baseRecord(*a.Base))
	if ino == 0 {
		return
	}
	if n := u.r.tree.nodes[ino]; ino < u.r.tree.nextIno && (n == nil || n.parent == nil && a.Place != MoveFile) {
		return // removed here since it was sent
	}
	u.records = append(u.records, record{kind: recCarry, ino: uint64(ino), id: a.ID})
}

func baseRecord(b Base) record {
	return record{kind: recBase, id: b.ID, version: b.VersionID, path: b.Path, sha: b.SHA, size: uint64(b.Size),
		btime: uint64(nanos(b.CreatedAt)), mtime: uint64(nanos(b.UpdatedAt))}
}

// dirFor finds the directory for a path's file, making what is missing, and
// clears away directories that stand where the file goes.
func (u *update) dirFor(path string) (Ino, string) {
	dirPath := parentPath(path)
	name := path[len(dirPath)+1:]
	dir := u.dirAt(dirPath)
	if n, ok := u.r.tree.at(path); ok && n.dir && n.parent != nil {
		u.clear(n)
	}
	return dir, name
}

func (u *update) dirAt(path string) Ino {
	if ino, made := u.dirs[path]; made {
		return ino
	}
	if n, ok := u.r.tree.at(path); ok && n.dir {
		return n.ino
	}
	parent := parentPath(path)
	name := path[len(parent)+1:]
	dir := u.dirAt(parent)
	ino := u.nextIno
	u.nextIno++
	u.dirs[path] = ino
	u.records = append(u.records, record{kind: recNode, ino: uint64(ino), parent: uint64(dir), name: name, flags: flagDir,
		mode: uint64(u.r.o.DirMode), uid: uint64(u.r.o.UID), gid: uint64(u.r.o.GID), atime: u.now, mtime: u.now, ctime: u.now, btime: u.now})
	u.changes = append(u.changes, Change{Parent: dir, Name: name})
	return ino
}

// clear removes a directory whose files are all going, with the directories
// that are left in it.
func (u *update) clear(dir *node) {
	for _, n := range dir.entries {
		if _, gone := u.freed[n]; gone {
			continue
		}
		u.clear(n)
	}
	u.records = append(u.records, record{kind: recUnlink, parent: uint64(dir.parent.ino), name: dir.name, time: u.now})
	u.changes = append(u.changes, Change{Parent: dir.parent.ino, Name: dir.name, Old: dir.ino})
}
