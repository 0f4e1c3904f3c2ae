package disk

import "io"

// Kind is what an operation does.
type Kind string

// The kinds of operations a hook sees.
const (
	KindOpen     Kind = "open"
	KindCreate   Kind = "create"
	KindRead     Kind = "read"
	KindWrite    Kind = "write"
	KindSync     Kind = "sync"
	KindTruncate Kind = "truncate"
	KindRename   Kind = "rename"
	KindRemove   Kind = "remove"
	KindMkdir    Kind = "mkdir"
	KindList     Kind = "list"
	KindStat     Kind = "stat"
	KindLock     Kind = "lock"
)

// Op is one operation that is about to happen.
type Op struct {
	// Label says what the operation is for, as in "journal.append".
	Label string
	Kind  Kind
	// Dir is the directory's path and Name the name in it; "." is the
	// directory itself. For an open file it is the name it was opened by.
	Dir  string
	Name string
	// File numbers the open file from its create or open on; 0 for
	// operations on names.
	File uint64
	// To is a rename's new name.
	To string
	// Off is where a read or write begins; the new size for a truncate.
	Off int64
	// Size is how many bytes a read or write is about.
	Size int
	// Data is what a write writes. It must not be changed, nor kept after the
	// hook returns.
	Data []byte
}

// Fault is a hook's answer. The zero value lets the operation through.
type Fault struct {
	// Err is returned in place of doing the operation.
	Err error
	// Short makes a write write this many bytes before it fails with Err, or
	// with io.ErrShortWrite where Err is nil.
	Short int
	// After is called when the operation is over, with its error.
	After func(error)
}

// Hook sees every operation before it happens. It is nil in production. It is
// called from many goroutines.
type Hook func(Op) Fault

// run does f as operation op.
func (h Hook) run(op Op, f func() error) error {
	if h == nil {
		return f()
	}
	fault := h(op)
	err := fault.Err
	if err == nil {
		err = f()
	}
	if fault.After != nil {
		fault.After(err)
	}
	return err
}

// write does f, which writes p, as operation op.
func (h Hook) write(op Op, p []byte, f func(p []byte) (int, error)) (int, error) {
	if h == nil {
		return f(p)
	}
	op.Size, op.Data = len(p), p
	fault := h(op)
	n, err := 0, fault.Err
	switch {
	case fault.Short > 0:
		if n, err = f(p[:min(fault.Short, len(p))]); err == nil {
			err = fault.Err
		}
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
	case err == nil:
		n, err = f(p)
	}
	if fault.After != nil {
		fault.After(err)
	}
	return n, err
}
