package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"memfs/store/replica/disk"
)

// tempSuffix ends the name of a file that is not a journal yet.
const tempSuffix = ".new"

// writer fills a new journal file under its temporary name, in large writes.
type writer struct {
	dir  *disk.Dir
	name string
	log  log
	buf  []byte // frames not yet written; log.end is behind them
}

func newWriter(dir *disk.Dir, name string, h Header) (*writer, error) {
	if err := removeTemp(dir, name); err != nil {
		return nil, err
	}
	w := &writer{dir: dir, name: name}
	rand.Read(w.log.salt[:])
	head, err := encodeHeader(h, w.log.salt)
	if err != nil {
		return nil, err
	}
	if w.log.f, err = dir.Create(labelTemp, name+tempSuffix); err != nil {
		return nil, noSpace(err)
	}
	w.buf, w.log.end = head, int64(len(head))
	return w, nil
}

func (w *writer) add(payload []byte) error {
	if len(payload) == 0 || len(payload) > MaxPayload {
		return fmt.Errorf("%d bytes: %w", len(payload), ErrTooLarge)
	}
	before := len(w.buf)
	w.buf = appendFrame(w.buf, w.log.salt, w.log.end, payload)
	w.log.end += int64(len(w.buf) - before)
	if len(w.buf) < extent {
		return nil
	}
	return w.flush(labelNew)
}

func (w *writer) addAll(payloads iter.Seq[[]byte]) error {
	for payload := range payloads {
		if err := w.add(payload); err != nil {
			return err
		}
	}
	return nil
}

// flush writes what was added.
func (w *writer) flush(label string) error {
	if len(w.buf) == 0 {
		return nil
	}
	off := w.log.end - int64(len(w.buf))
	_, err := w.log.f.WriteAt(label, w.buf, off)
	w.buf = w.buf[:0]
	w.log.space = max(w.log.space, w.log.end)
	return noSpace(err)
}

// sync makes what was added durable, with space for more behind it.
func (w *writer) sync(label string) error {
	if err := w.flush(label); err != nil {
		return err
	}
	if w.log.end+reserve > w.log.space {
		if err := w.log.extend(w.log.end); err != nil {
			return err
		}
	}
	return noSpace(w.log.f.Sync(labelNewSync))
}

// rename gives the file its name. It is durable after a sync of the directory.
func (w *writer) rename() error { return w.log.f.Rename(labelRename, w.name) }

// discard takes the file back.
func (w *writer) discard() error {
	return errors.Join(w.log.f.Close(), removeTemp(w.dir, w.name))
}

// removeTemp removes what an unfinished Create or checkpoint left.
func removeTemp(dir *disk.Dir, name string) error {
	err := dir.Remove(labelTemp, name+tempSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
