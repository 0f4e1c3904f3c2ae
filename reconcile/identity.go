package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"memfs/store"
	"memfs/store/replica"
)

// Mappable reports whether a memory of the store can be shown as a file: its
// path is legal, every name fits a filesystem, and it is neither the marker's nor
// under it (R12, R13).
func Mappable(path string) bool {
	const marker = "/" + store.MarkerName
	if store.CheckPath(path) != nil || path == marker || strings.HasPrefix(path, marker+"/") {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if len(name) > store.MaxSegment {
			return false
		}
	}
	return true
}

// load copies the snapshot's memories and files, each file once, so that the
// plan can move base on its own copies.
func (p *planner) load() {
	known := map[replica.Ino]*replica.File{}
	own := func(f *replica.File) *replica.File {
		if f == nil {
			return nil
		}
		if known[f.Ino] == nil {
			c := *f
			known[f.Ino] = &c
			p.files = append(p.files, &c)
		}
		return known[f.Ino]
	}
	for _, m := range p.in.Local.Memories {
		m.At, m.Carrier = own(m.At), own(m.Carrier)
		p.memories[m.Base.ID] = &m
	}
	for i := range p.in.Local.Files {
		own(&p.in.Local.Files[i])
	}
	for _, path := range slices.Sorted(maps.Keys(p.in.Local.Paths)) {
		p.loadPath(p.in.Local.Paths[path], own)
	}
}

// loadPath adds the files without a memory that stand at, above or below a path
// that the store holds, the local-only ones too: they cannot stay there (R17). A
// file of a memory that is not in the snapshot is where it belongs.
func (p *planner) loadPath(at replica.PathState, own func(*replica.File) *replica.File) {
	files := at.Below
	if at.File != nil {
		files = append(slices.Clone(files), *at.File)
	}
	for i := range files {
		if f := &files[i]; f.MemoryID == "" || p.memories[f.MemoryID] != nil {
			own(f)
		}
	}
}

// identify finds the file that stands for each memory (R6), and makes the
// units: memories of base, files that none of them claims, and memories that
// are new in the store.
func (p *planner) identify() {
	claimed := map[replica.Ino]*unit{}
	p.standing(claimed)
	p.carried(claimed)
	byPath := map[string]*unit{}
	for _, f := range p.files {
		if claimed[f.Ino] == nil {
			u := &unit{local: f}
			byPath[f.Path] = u
			p.units = append(p.units, u)
		}
	}
	for id, m := range p.in.Remote {
		if m == nil || p.byID[id] != nil || !Mappable(m.Path) {
			continue
		}
		u := byPath[m.Path]
		if u == nil {
			u = &unit{}
			p.units = append(p.units, u)
		}
		u.id, u.remote = id, m
		p.byID[id] = u
	}
	slices.SortFunc(p.units, func(a, b *unit) int {
		return cmp.Or(strings.Compare(a.name(), b.name()), strings.Compare(a.id, b.id))
	})
}

// standing gives each memory the file at its base path: the id stays with the
// path. The exception is a file that was renamed over a memory which meanwhile
// changed or went in the store: it keeps the id it carries, so that the rename
// can be undone, or done, without either text being lost.
func (p *planner) standing(claimed map[replica.Ino]*unit) {
	for _, m := range p.memories {
		u := &unit{id: m.Base.ID, base: &m.Base, remote: p.remoteOf(&m.Base),
			touched: m.Touched, first: m.First, verdict: m.Verdict}
		p.units = append(p.units, u)
		p.byID[u.id] = u
		if m.At == nil {
			continue
		}
		carried := p.memories[m.At.MemoryID]
		visitor := carried != nil && carried != m && carried.At == nil
		if visitor && !u.remoteStands(m.At.SHA) {
			continue
		}
		u.local = m.At
		claimed[m.At.Ino] = u
	}
}

// remoteStands reports whether the store still has the memory as base has it,
// or already with the content sha.
func (u *unit) remoteStands(sha store.SHA) bool {
	return u.remote != nil && u.remote.Path == u.base.Path &&
		(u.remote.SHA == u.base.SHA || u.remote.SHA == sha)
}

// carried gives each memory whose base path is empty the file that carries its
// id, unless that file stands for another memory.
func (p *planner) carried(claimed map[replica.Ino]*unit) {
	for _, m := range p.memories {
		u := p.byID[m.Base.ID]
		if u.local != nil || m.Carrier == nil {
			continue
		}
		if other := claimed[m.Carrier.Ino]; other != nil {
			u.heir = other
			continue
		}
		u.local = m.Carrier
		claimed[m.Carrier.Ino] = u
	}
}
