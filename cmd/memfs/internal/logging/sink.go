package logging

import (
	"io"
	"sync"
	"time"
)

const (
	// patience is how long a line may take to be written.
	patience = time.Second
	// maxQueue bounds what waits for a reader that stands still, in bytes; one
	// line may be longer.
	maxQueue = 1 << 20
)

// sink writes lines in their order. Whoever reads them can stand still, as a
// supervisor whose pipe is full, and must hold up neither a file operation nor a
// pass nor the end (R14, R15): after patience lines are queued, and what does not
// fit behind others in maxQueue is counted.
type sink struct {
	w io.Writer
	// lost is the line that says how many are missing. Of one line none can be.
	lost func(lines int) []byte

	mu      sync.Mutex
	queue   []byte
	dropped int
	written chan struct{} // closed when the queue is empty; nil while it is
	stuck   bool
}

// Say writes a line to w, and waits for whoever reads it as long as a logger does.
func Say(w io.Writer, line string) { _, _ = (&sink{w: w}).Write([]byte(line)) }

// Write is io.Writer's; it never fails, since nobody could be told.
func (s *sink) Write(line []byte) (int, error) {
	s.mu.Lock()
	if len(s.queue) == 0 || len(s.queue)+len(line) <= maxQueue {
		s.queue = append(s.queue, line...)
	} else {
		s.dropped++
	}
	if s.written == nil {
		s.written = make(chan struct{})
		go s.drain()
	}
	written, stuck := s.written, s.stuck
	s.mu.Unlock()
	if stuck {
		return len(line), nil
	}
	select {
	case <-written:
	case <-time.After(patience):
		s.mu.Lock()
		s.stuck = s.written == written
		s.mu.Unlock()
	}
	return len(line), nil
}

// drain writes until there is nothing left.
func (s *sink) drain() {
	for {
		text, last := s.next()
		if last {
			return
		}
		_, _ = s.w.Write(text)
	}
}

func (s *sink) next() (text []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = s.queue
	if s.dropped > 0 {
		text = append(text, s.lost(s.dropped)...)
	}
	s.queue, s.dropped = nil, 0
	if len(text) == 0 {
		close(s.written)
		s.written, s.stuck = nil, false
		return nil, true
	}
	return text, false
}
