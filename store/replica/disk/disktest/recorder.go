package disktest

import (
	"path/filepath"
	"slices"
	"sync"

	"memfs/store/replica/disk"
)

// Recorder is a hook that records every change and every sync, so that Image
// can build what power loss would have left at any moment.
type Recorder struct {
	mu     sync.Mutex
	events []event
	next   int            // the number of the next file
	open   map[uint64]int // open file → file
	names  map[string]int // path → file, as the process sees it
}

// event is one change or sync that is done.
type event struct {
	kind     disk.Kind
	path, to string // of names
	file     int
	off      int64
	data     []byte
	// began is how many events there were when a sync began: it covers those.
	began int
}

// NewRecorder returns an empty recorder. It must see every operation on the
// directories from when they were empty.
func NewRecorder() *Recorder {
	return &Recorder{open: map[uint64]int{}, names: map[string]int{}}
}

// Len is how many events were recorded: the present moment, for Image.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Hook is the disk.Hook.
func (r *Recorder) Hook(op disk.Op) disk.Fault {
	data := slices.Clone(op.Data)
	began := r.Len()
	return disk.Fault{After: func(err error) {
		if err != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.record(op, data, began)
	}}
}

// record needs mu.
func (r *Recorder) record(op disk.Op, data []byte, began int) {
	path := filepath.Join(op.Dir, op.Name)
	e := event{kind: op.Kind, path: path, file: r.open[op.File], off: op.Off, data: data, began: began}
	switch op.Kind {
	case disk.KindCreate:
		r.next++
		e.file = r.next
		r.names[path], r.open[op.File] = e.file, e.file
	case disk.KindOpen:
		r.open[op.File] = r.names[path]
		return
	case disk.KindRename:
		e.to = filepath.Join(op.Dir, op.To)
		r.names[e.to] = r.names[path]
		delete(r.names, path)
	case disk.KindRemove:
		delete(r.names, path)
	case disk.KindWrite, disk.KindTruncate, disk.KindSync, disk.KindMkdir:
	default:
		return
	}
	r.events = append(r.events, e)
}
