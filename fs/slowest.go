//go:build linux || darwin

package fs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slowestKept is how many operations are kept of a period.
	slowestKept = 5
	// slowestPeriod is how long operations are compared with each other: what
	// was slow long ago tells nothing of now.
	slowestPeriod = time.Hour
	// slowFloor is the time from which an operation may be called slow.
	slowFloor = time.Millisecond
)

// Slow is an operation that took long.
type Slow struct {
	// Op is the request's name: lookup, read, write, rename ...
	Op string `json:"op"`
	// Path is where in the store it took place.
	Path string `json:"path"`
	// Seconds is how long the answer took.
	Seconds float64 `json:"seconds"`
	// At is when it was answered.
	At time.Time `json:"at"`
}

// Slowest keeps the slowest operations of the last one to two hours. The zero
// value is ready. An operation that is not among them costs one comparison.
type Slowest struct {
	// floor is the time in nanoseconds that an operation has to exceed, turn
	// when the period ends, in nanoseconds since 1970.
	floor, turn atomic.Int64

	mu           sync.Mutex
	now, earlier []Slow // at most slowestKept each, the slowest first
}

// Observe takes note of an operation; it is for Options.Observe.
func (s *Slowest) Observe(o Operation) {
	if o.Took >= slowFloor {
		s.slow(o, time.Now())
	}
}

func (s *Slowest) slow(o Operation, now time.Time) {
	if o.Took.Nanoseconds() <= s.floor.Load() && now.UnixNano() < s.turn.Load() {
		return
	}
	slow := Slow{Op: o.Name, Path: o.Path(), Seconds: o.Took.Seconds(), At: now.Round(0).UTC()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(slow)
}

func (s *Slowest) keep(slow Slow) {
	if late := slow.At.UnixNano() - s.turn.Load(); late >= 0 {
		s.earlier = s.now
		if late >= slowestPeriod.Nanoseconds() { // nothing was slow meanwhile
			s.earlier = nil
		}
		s.now = nil
		s.floor.Store(0)
		s.turn.Store(slow.At.Add(slowestPeriod).UnixNano())
	}
	s.now = slowestOf(append(s.now, slow))
	if len(s.now) == slowestKept {
		s.floor.Store(int64(s.now[slowestKept-1].Seconds * float64(time.Second)))
	}
}

// List is what is kept, the slowest first.
func (s *Slowest) List() []Slow {
	s.mu.Lock()
	defer s.mu.Unlock()
	recent := slices.DeleteFunc(slices.Concat(s.now, s.earlier), func(o Slow) bool { return time.Since(o.At) > 2*slowestPeriod })
	return slowestOf(recent)
}

func slowestOf(list []Slow) []Slow {
	slices.SortStableFunc(list, func(a, b Slow) int {
		switch {
		case a.Seconds > b.Seconds:
			return -1
		case a.Seconds < b.Seconds:
			return 1
		}
		return 0
	})
	return list[:min(len(list), slowestKept)]
}
