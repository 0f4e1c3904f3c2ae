package reconcile

import (
	"maps"

	"memfs/store"
)

// was notes what a version held that is not a memory's head any more.
func (v *View) was(version, memory string, sha store.SHA) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.noteFormer(version, memory, sha)
}

// noteFormer needs mu.
func (v *View) noteFormer(version, memory string, sha store.SHA) {
	if version != "" && !sha.IsZero() {
		v.former[version] = former{memory: memory, sha: sha}
	}
}

// formers are the versions noted, by id.
func (v *View) formers() map[string]former {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.former)
}

// forget forgets a version.
func (v *View) forget(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.former, version)
}

// contents are those that the store's memories have now.
func (v *View) contents() map[store.SHA]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make(map[store.SHA]bool, len(v.byID))
	for _, m := range v.byID {
		all[m.SHA] = true
	}
	return all
}
