package reconcile

import (
	"errors"
	"strings"
	"sync"

	"memfs/store"
	"memfs/store/replica"
)

// View is the remote view: what the store has, as far as it was learnt. It is
// kept apart from base, so that a change that cannot be applied yet is not lost
// and not mistaken for agreed. Its methods may be called from any goroutine.
type View struct {
	mu     sync.Mutex
	byID   map[string]store.Memory
	byPath map[string]string
	// below counts the memories under each directory.
	below map[string]int
	// pending are the ids that may differ from base.
	pending map[string]struct{}
	// hidden counts the memories that cannot be shown (R12).
	hidden int
	// former tells what versions held that were heads before, for as long as
	// such a text may be on this host (R19).
	former map[string]former
}

// NewView returns a view of an empty store.
func NewView() *View {
	return &View{byID: map[string]store.Memory{}, byPath: map[string]string{}, below: map[string]int{},
		pending: map[string]struct{}{}, former: map[string]former{}}
}

// Put notes the present state of memories, as one set: paths are freed before
// they are taken. It reports whether the result adds up: no path taken twice,
// none under another.
func (v *View) Put(memories ...store.Memory) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range memories {
		if old := v.byID[m.ID]; old.VersionID != m.VersionID {
			v.noteFormer(old.VersionID, old.ID, old.SHA)
		}
		v.remove(m.ID)
	}
	sound := true
	for _, m := range memories {
		m.Content = nil
		v.byID[m.ID] = m
		v.pending[m.ID] = struct{}{}
		if !Mappable(m.Path) {
			v.hidden++
		}
		sound = v.place(m) && sound
	}
	return sound
}

// occupies reports whether a path can be in another one's way. What is no legal
// path is not, unless it is one that is merely too long: a store may have such
// paths from before there was that limit.
func occupies(path string) bool {
	err := store.CheckPath(path)
	return err == nil || errors.Is(err, store.ErrPathTooLong) && len(path) < store.MaxListedPath
}

// place notes which path a memory has, and reports whether no other has it, and
// none is above or below it.
func (v *View) place(m store.Memory) bool {
	if !occupies(m.Path) {
		return true
	}
	_, taken := v.byPath[m.Path]
	sound := !taken && v.below[m.Path] == 0
	for _, dir := range above(m.Path) {
		if _, file := v.byPath[dir]; file {
			sound = false
		}
		v.below[dir]++
	}
	v.byPath[m.Path] = m.ID
	return sound
}

// Gone notes that a memory is certainly not in the store any more.
func (v *View) Gone(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.byID[id]
	v.noteFormer(old.VersionID, id, old.SHA)
	v.remove(id)
	v.pending[id] = struct{}{}
}

func (v *View) remove(id string) {
	m, known := v.byID[id]
	if !known {
		return
	}
	delete(v.byID, id)
	if !Mappable(m.Path) {
		v.hidden--
	}
	if !occupies(m.Path) {
		return
	}
	if v.byPath[m.Path] == id {
		delete(v.byPath, m.Path)
	}
	for _, dir := range above(m.Path) {
		if v.below[dir]--; v.below[dir] == 0 {
			delete(v.below, dir)
		}
	}
}

// Get returns what is known of one memory.
func (v *View) Get(id string) (store.Memory, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, known := v.byID[id]
	return m, known
}

// IDs returns the ids of all memories.
func (v *View) IDs() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	ids := make([]string, 0, len(v.byID))
	for id := range v.byID {
		ids = append(ids, id)
	}
	return ids
}

// Pending returns the store's side of what differs from base; nil is a memory
// that is gone. It costs what changed, not what exists.
func (v *View) Pending(base func(id string) (replica.Base, bool)) map[string]*store.Memory {
	v.mu.Lock()
	defer v.mu.Unlock()
	differ := map[string]*store.Memory{}
	for id := range v.pending {
		b, agreed := base(id)
		m, there := v.byID[id]
		switch {
		case !there && !agreed,
			there && agreed && b.Path == m.Path && b.SHA == m.SHA && b.VersionID == m.VersionID,
			there && !agreed && !Mappable(m.Path):
			delete(v.pending, id)
		case there:
			differ[id] = &m
		default:
			differ[id] = nil
		}
	}
	return differ
}

// At implements Index.
func (v *View) At(path string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, found := v.byPath[path]
	return id, found
}

// Below implements Index.
func (v *View) Below(path string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	left := v.below[path]
	if left == 0 {
		return nil
	}
	ids := make([]string, 0, left)
	for at, id := range v.byPath {
		if strings.HasPrefix(at, path+"/") {
			ids = append(ids, id)
		}
	}
	return ids
}

// Len implements Index.
func (v *View) Len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.byID)
}

// Hidden is how many memories cannot be shown as files (R12).
func (v *View) Hidden() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.hidden
}
