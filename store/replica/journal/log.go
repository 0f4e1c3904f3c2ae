package journal

import (
	"errors"
	"fmt"

	"memfs/store/replica/disk"
)

const (
	// extent is how much space is taken ahead at a time; it holds the reserve.
	extent    = 512 << 10
	reserve   = 64 << 10
	zeroChunk = 64 << 10
)

// log is one journal file that is being written. Its caller locks.
type log struct {
	f    *disk.File
	salt salt
	// end is where the next frame goes; what is between end and space is zeros.
	end, space int64
	buf        []byte
}

// append writes one frame at the end. On an error nothing was appended; it
// is ErrBroken where that could not be made so.
func (l *log) append(payload []byte, small bool) error {
	if len(payload) == 0 || len(payload) > MaxPayload {
		return fmt.Errorf("%d bytes: %w", len(payload), ErrTooLarge)
	}
	need := l.end + frameHead + int64(len(payload))
	if need+reserve > l.space {
		if err := l.extend(need); err != nil && (!small || need > l.space) {
			return err
		}
	}
	l.buf = appendFrame(l.buf[:0], l.salt, l.end, payload)
	_, err := l.f.WriteAt(labelAppend, l.buf, l.end)
	if err != nil {
		err = errors.Join(noSpace(err), l.repair(int64(len(l.buf))))
	} else {
		l.end = need
	}
	if cap(l.buf) > extent {
		l.buf = nil
	}
	return err
}

// repair makes zeros again of what half an append wrote.
func (l *log) repair(n int64) error {
	if _, err := l.f.WriteAt(labelRepair, make([]byte, n), l.end); err != nil {
		return fmt.Errorf("%w: half an append stays: %w", ErrBroken, err)
	}
	return nil
}

// extend takes space for frames up to need and the reserve: a whole extent
// more where the disk gives it. The error is ErrNoSpace where it is full.
func (l *log) extend(need int64) error {
	if err := l.zeros(need + extent); err == nil || !disk.NoSpace(err) {
		return err
	}
	return noSpace(l.zeros(need + reserve))
}

// zeros writes zeros from the present end of space up to size.
func (l *log) zeros(size int64) error {
	chunk := make([]byte, zeroChunk)
	for l.space < size {
		n, err := l.f.WriteAt(labelExtend, chunk[:min(zeroChunk, size-l.space)], l.space)
		l.space += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
