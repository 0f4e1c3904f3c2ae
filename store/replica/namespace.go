package replica

import (
	"memfs/store"
)

// Lookup finds a name in a directory. The Attr holds one kernel reference.
func (r *Replica) Lookup(parent Ino, name string) (Attr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir, err := r.directory(parent)
	if err != nil {
		return Attr{}, err
	}
	if len(name) > store.MaxSegment {
		return Attr{}, ErrNameTooLong
	}
	n := dir.children[store.NormalName(name)]
	if n == nil {
		return Attr{}, ErrNotExist
	}
	n.refs++
	n.unseen = false
	return n.attr(), nil
}

// Ref takes one more kernel reference; false where the inode is gone.
func (r *Replica) Ref(ino Ino) (Attr, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.tree.nodes[ino]
	if n == nil {
		return Attr{}, false
	}
	n.unseen = n.unseen && n.refs > 0 // else the kernel knows it by this name
	n.refs++
	return n.attr(), true
}

// Forget gives n kernel references back. A file without a name goes with its
// last one.
func (r *Replica) Forget(ino Ino, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if node := r.tree.nodes[ino]; node != nil {
		node.refs -= min(n, node.refs)
		r.tree.reap(node)
	}
}

// Parent is the directory that a directory lies in; the root is its own.
func (r *Replica) Parent(ino Ino) (Ino, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n, err := r.node(ino)
	if err != nil {
		return 0, err
	}
	if n.parent == nil {
		return Root, nil
	}
	return n.parent.ino, nil
}

// ReadDir returns up to max entries of a directory whose cookie is over after,
// in the order of their cookies; max 0 means all.
func (r *Replica) ReadDir(ino Ino, after uint64, max int) ([]Dirent, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	dir, err := r.node(ino)
	if err != nil {
		return nil, err
	}
	if !dir.dir {
		return nil, ErrNotDir
	}
	entries := dir.entries[dir.after(after):]
	if max > 0 && len(entries) > max {
		entries = entries[:max]
	}
	out := make([]Dirent, len(entries))
	for i, n := range entries {
		out[i] = Dirent{Name: n.name, Cookie: n.cookie, Attr: n.attr()}
	}
	return out, nil
}

// Create makes an empty file. The Attr holds one kernel reference.
func (r *Replica) Create(parent Ino, name string, mode, uid, gid uint32) (Attr, error) {
	return r.make(parent, name, flagMade, mode, uid, gid)
}

// Mkdir makes a directory, which stays until Rmdir. The Attr holds one kernel
// reference.
func (r *Replica) Mkdir(parent Ino, name string, mode, uid, gid uint32) (Attr, error) {
	return r.make(parent, name, flagMade|flagDir, mode, uid, gid)
}

func (r *Replica) make(parent Ino, name string, flags uint64, mode, uid, gid uint32) (Attr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir, err := r.directory(parent)
	if err != nil {
		return Attr{}, err
	}
	name, err = checkName(name)
	if err != nil {
		return Attr{}, err
	}
	if dir.children[name] != nil {
		return Attr{}, ErrExist
	}
	if err := checkDepth(dir, name, nil); err != nil {
		return Attr{}, err
	}
	isFile := flags&flagDir == 0
	if isFile && r.tree.memories >= r.o.MaxMemories+spareMemories && !r.scratchAt(dir, name) {
		return Attr{}, ErrFull
	}
	if r.tree.made >= r.o.MaxMemories+spareMemories+maxOthers {
		return Attr{}, ErrTooMany
	}
	now := r.now()
	ino := r.tree.nextIno
	err = r.commit(!isFile, record{
		kind: recNode, ino: uint64(ino), parent: uint64(parent), name: name, flags: flags,
		mode: uint64(mode & 0o7777), uid: uint64(uid), gid: uint64(gid), atime: now, mtime: now, ctime: now, btime: now,
	})
	if err != nil {
		return Attr{}, err
	}
	n := r.tree.nodes[ino]
	n.refs++
	n.unseen = false
	return n.attr(), nil
}

// Unlink removes a file's name. The file stays readable and writable for those
// who have it open. A name that a remote change gave to another file, and that
// was not looked up since, is not the one that the kernel means: ErrStale, upon
// which it looks the name up and tries again. The same is true for Rmdir and, of
// both names, for Rename.
func (r *Replica) Unlink(parent Ino, name string) error {
	return r.remove(parent, name, false)
}

// Rmdir removes an empty directory.
func (r *Replica) Rmdir(parent Ino, name string) error {
	return r.remove(parent, name, true)
}

func (r *Replica) remove(parent Ino, name string, wantDir bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir, err := r.directory(parent)
	if err != nil {
		return err
	}
	name = store.NormalName(name)
	n := dir.children[name]
	switch {
	case n == nil:
		return ErrNotExist
	case n.unseen:
		return ErrStale
	case wantDir && !n.dir:
		return ErrNotDir
	case !wantDir && n.dir:
		return ErrIsDir
	case n.dir && len(n.entries) > 0:
		return ErrNotEmpty
	}
	return r.commit(true, record{kind: recUnlink, parent: uint64(parent), name: name, time: r.now()})
}

// Rename moves a name, replacing a file or an empty directory that stands at
// the new one unless noReplace is set (ErrExist).
func (r *Replica) Rename(parent Ino, name string, newParent Ino, newName string, noReplace bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, err := r.directory(parent)
	if err != nil {
		return err
	}
	to, err := r.directory(newParent)
	if err != nil {
		return err
	}
	name = store.NormalName(name)
	n := from.children[name]
	if n == nil {
		return ErrNotExist
	}
	newName, err = checkName(newName)
	if err != nil {
		return err
	}
	target := to.children[newName]
	if n.unseen || target != nil && target.unseen {
		return ErrStale
	}
	if target == n && !noReplace {
		return nil
	}
	if err := checkReplace(n, target, noReplace); err != nil {
		return err
	}
	if n.dir && to.under(n) {
		return ErrInvalid
	}
	if err := checkDepth(to, newName, n); err != nil {
		return err
	}
	if err := r.checkBecomesMemory(n, to, newName); err != nil {
		return err
	}
	return r.commit(true, record{kind: recRename, parent: uint64(parent), name: name,
		newParent: uint64(newParent), newName: newName, time: r.now()})
}

// checkReplace applies rename's rules for what stands at the new name.
func checkReplace(n, target *node, noReplace bool) error {
	switch {
	case target == nil:
		return nil
	case noReplace:
		return ErrExist
	case n.dir && !target.dir:
		return ErrNotDir
	case !n.dir && target.dir:
		return ErrIsDir
	case target.dir && len(target.entries) > 0:
		return ErrNotEmpty
	}
	return nil
}

// checkBecomesMemory refuses a rename that would turn scratch over a memory's
// size into a memory, or too many files at once (R11).
func (r *Replica) checkBecomesMemory(n, to *node, newName string) error {
	old, moved := n.path(), to.path()+"/"+newName
	more, tooLarge := 0, false
	n.files(func(f *node) {
		if f.local && !r.tree.scratch.Match(moved+f.path()[len(old):]) {
			more++
			tooLarge = tooLarge || f.content.size > store.MaxContent
		}
	})
	switch {
	case tooLarge:
		return ErrFileTooLarge
	case more > 0 && r.tree.memories+more > r.o.MaxMemories+spareMemories:
		return ErrFull
	}
	return nil
}
