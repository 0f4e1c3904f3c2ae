package objects

import (
	"sync"

	"memfs/store"
)

// index knows which objects have a name in the directory, so that asking for
// thousands of them, under a lock that file operations wait for, takes no
// system call. Its own lock is never held over one.
type index struct {
	mu    sync.RWMutex
	names map[store.SHA]struct{}
}

func newIndex(names []string) *index {
	x := &index{names: make(map[store.SHA]struct{}, len(names))}
	for _, name := range names {
		if sha, err := store.ParseSHA(name); err == nil {
			x.names[sha] = struct{}{}
		}
	}
	return x
}

func (x *index) has(sha store.SHA) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.names[sha]
	return ok
}

func (x *index) set(sha store.SHA, there bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if there {
		x.names[sha] = struct{}{}
	} else {
		delete(x.names, sha)
	}
}
