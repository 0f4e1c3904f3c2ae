package replica

import (
	"sync"
	"time"

	"memfs/store"
)

// failedFor is how long a fetch that failed is not tried again. The kernel asks
// at once a second time for what it could not read ahead, and a reader is to
// wait only once (R14).
const failedFor = 2 * time.Second

// failures remembers the fetches that failed a moment ago.
type failures struct {
	mu sync.Mutex
	at map[store.SHA]failure
}

type failure struct {
	err error
	at  time.Time
}

// recent is the error of a fetch that failed a moment ago; nil if none did.
func (f *failures) recent(sha store.SHA) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.at[sha]
	if !ok || time.Since(last.at) > failedFor {
		return nil
	}
	return last.err
}

func (f *failures) add(sha store.SHA, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == nil {
		f.at = make(map[store.SHA]failure)
	}
	for old, last := range f.at {
		if time.Since(last.at) > failedFor {
			delete(f.at, old)
		}
	}
	f.at[sha] = failure{err: err, at: time.Now()}
}
