package replica

import "memfs/store"

// places reports whether the step gives a file a name.
func (a Apply) places() bool { return a.Place == PutFile || a.Place == MoveFile }

// dropObstructed takes back the steps whose path would not be free even when
// all other steps are done. Where one is taken back its own file stays, so those
// that wanted its place are looked at again. r.mu is held.
func (t *tree) dropObstructed(set []Apply, applied []bool) {
	freed, placed := make(map[*node]int), make(map[string]int)
	near := make(map[string][]int) // the steps that place at a path, or below it ("path/")
	var queue []int
	for i, a := range set {
		if !applied[i] {
			continue
		}
		if n := t.nodes[a.Ino]; n != nil && a.Place != KeepTree {
			freed[n]++
		}
		if !a.places() {
			continue
		}
		queue = append(queue, i)
		path := a.Base.Path
		placed[path]++
		near[path] = append(near[path], i)
		for dir := parentPath(path); dir != ""; dir = parentPath(dir) {
			near[dir+"/"] = append(near[dir+"/"], i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		path := set[i].Base.Path
		if !applied[i] || t.placeable(path, freed, placed) {
			continue
		}
		applied[i] = false
		placed[path]--
		n := t.nodes[set[i].Ino]
		if n == nil || n.parent == nil {
			continue
		}
		freed[n]--
		at := n.path()
		queue = append(append(queue, near[at]...), near[at+"/"]...)
		for dir := parentPath(at); dir != ""; dir = parentPath(dir) {
			queue = append(queue, near[dir]...)
		}
	}
}

// placeable reports whether a file can stand at a path once freed is free and
// placed is placed.
func (t *tree) placeable(path string, freed map[*node]int, placed map[string]int) bool {
	if placed[path] != 1 || path == "/"+store.MarkerName {
		return false
	}
	for dir := parentPath(path); dir != ""; dir = parentPath(dir) {
		if placed[dir] > 0 {
			return false
		}
	}
	n, ok := t.at(path)
	if n == nil {
		return true
	}
	if !ok || !n.dir {
		return freed[n] > 0
	}
	empty := true
	n.files(func(f *node) {
		empty = empty && freed[f] > 0
	})
	return empty
}
