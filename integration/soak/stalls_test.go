//go:build linux

package soak

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stalls are times at which this process did nothing at all, for a lack of CPUs,
// of a disk, or as it started a tool: what stood still then is not memfs's.
type stalls struct {
	mu    sync.Mutex
	times []stall
}

type stall struct {
	end  time.Time
	took time.Duration
}

func newStalls() *stalls { return &stalls{} }

// run notices stalls until done: of the process, and of what a disk does to who
// waits for it.
func (s *stalls) run(done <-chan struct{}) func() {
	return func() {
		const step = 50 * time.Millisecond
		dir, err := os.MkdirTemp("", "soak-control")
		if err != nil {
			return
		}
		defer func() { _ = os.RemoveAll(dir) }()
		for {
			began := time.Now()
			select {
			case <-done:
				return
			case <-time.After(step):
			}
			s.add(time.Since(began)-step, step)
			began = time.Now()
			_ = synced(filepath.Join(dir, "f"))
			s.add(time.Since(began), step)
		}
	}
}

func (s *stalls) add(took, least time.Duration) {
	if took < least {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, stall{time.Now(), took})
}

// since is for how long this host stood still since then.
func (s *stalls) since(then time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.times) - 1; i >= 0 && s.times[i].end.After(then); i-- {
		sum += s.times[i].took
	}
	return sum
}

// synced writes a file as an agent does that means it.
func synced(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString("control")
	return errors.Join(err, f.Sync(), f.Close())
}
