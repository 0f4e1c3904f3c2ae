package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"memfs/store/replica/disk"
)

// readChunk is how much is read from the disk at a time.
const readChunk = 256 << 10

// Replay says what Read found.
type Replay struct {
	Header Header
	// Records is how many payloads were applied.
	Records int
	// Damaged is set where the frames do not end in zeros but in something
	// that does not verify: the end of a write that power loss or a full disk
	// cut off, or worse. What follows is lost.
	Damaged bool
	// Good is how many bytes of the file were good, of Size.
	Good int64
	Size int64
}

// Read calls apply with the payloads of a journal in order, each apply's to
// keep, and stops at the first frame that is not good. It also removes what
// an unfinished checkpoint left. The caller makes sure that nobody appends.
//
// Errors: fs.ErrNotExist where there is no file, ErrHeader, *VersionError,
// the disk's errors, and apply's, which end the reading.
func Read(dir *disk.Dir, name string, apply func(payload []byte) error) (Replay, error) {
	path := filepath.Join(dir.Path(), name)
	f, err := dir.OpenFile(labelRead, name, false)
	if err != nil {
		return Replay{}, fmt.Errorf("open journal: %w", err)
	}
	replay, err := read(f, path, apply)
	if err = errors.Join(err, f.Close()); err != nil {
		return replay, fmt.Errorf("read journal %s: %w", path, err)
	}
	_ = removeTemp(dir, name) // the next Create fails if it has to
	return replay, nil
}

func read(f *disk.File, path string, apply func([]byte) error) (Replay, error) {
	st, err := f.Stat(labelRead)
	if err != nil {
		return Replay{}, err
	}
	return scan(readerAt{f}, st.Size, path, apply)
}

// scan reads a journal of size bytes.
func scan(from io.ReaderAt, size int64, path string, apply func([]byte) error) (Replay, error) {
	replay := Replay{Size: size}
	r := bufio.NewReaderSize(io.NewSectionReader(from, 0, size), int(min(readChunk, size)))
	h, s, start, err := decodeHeader(r, path)
	if err != nil {
		return replay, err
	}
	replay.Header, replay.Good = h, start
	in := frames{r: r, salt: s, off: start, end: size}
	for {
		payload, err := in.next()
		switch {
		case err == nil:
		case errors.Is(err, errEnd):
			replay.Damaged, err = anyByte(r)
			return replay, err
		case errors.Is(err, errBad):
			replay.Damaged = true
			return replay, nil
		default:
			return replay, err
		}
		if err := apply(payload); err != nil {
			return replay, fmt.Errorf("record %d: %w", replay.Records, err)
		}
		replay.Records++
		replay.Good = in.off
	}
}

// anyByte reports whether r has a byte that is not zero.
func anyByte(r io.Reader) (bool, error) {
	chunk := make([]byte, zeroChunk)
	for {
		n, err := r.Read(chunk)
		if bytes.Count(chunk[:n], []byte{0}) < n {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// readerAt reads a file under the label of reading.
type readerAt struct{ f *disk.File }

func (r readerAt) ReadAt(p []byte, off int64) (int, error) { return r.f.ReadAt(labelRead, p, off) }
