package disk

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tempPrefix begins the names of files that were not finished.
const tempPrefix = ".tmp-"

// ReadFile returns a file's content. A file of more than limit bytes is
// EFBIG, so that what is found on disk cannot take all memory.
func (d *Dir) ReadFile(label, name string, limit int64) (content []byte, err error) {
	f, err := d.OpenFile(label, name, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat(label)
	if err != nil {
		return nil, err
	}
	if st.Size > limit {
		return nil, d.pathError(KindRead, name, unix.EFBIG)
	}
	content = make([]byte, st.Size)
	n, err := f.ReadAt(label, content, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return content[:n], err
}

// WriteFile puts content under the name as one step: readers and a crash find
// the old file or the new one. With durable it also survives power loss from
// the moment WriteFile returns.
func (d *Dir) WriteFile(label, name string, content []byte, durable bool) error {
	temp := tempPrefix + rand.Text()
	err := d.writeTemp(label, temp, content, durable)
	if err == nil {
		err = d.Rename(label, temp, name)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(d.Remove(label, temp)))
	}
	if durable {
		return d.Sync(label)
	}
	return nil
}

func (d *Dir) writeTemp(label, temp string, content []byte, durable bool) error {
	f, err := d.Create(label, temp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(label, content, 0)
	if err == nil && durable {
		err = f.Sync(label)
	}
	return errors.Join(err, f.Close())
}

// IsTemp reports whether a name is that of a file that WriteFile has not
// finished, or never will.
func IsTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// RemoveTemps removes what unfinished WriteFiles left that is older than age.
// Whoever shares the directory with other writers gives them time to finish.
func (d *Dir) RemoveTemps(label string, age time.Duration) error {
	names, err := d.List(label)
	for _, name := range names {
		if !IsTemp(name) {
			continue
		}
		st, statErr := d.Stat(label, name)
		if statErr == nil && time.Since(st.Mtime) >= age {
			statErr = d.Remove(label, name)
		}
		err = errors.Join(err, ignoreMissing(statErr))
	}
	return err
}

// RemoveAll removes everything in the directory but what is named, and not the
// directory itself. Symbolic links are removed, never followed.
func (d *Dir) RemoveAll(label string, but ...string) error {
	names, err := d.List(label)
	for _, name := range names {
		if slices.Contains(but, name) {
			continue
		}
		err = errors.Join(err, d.removeTree(label, name))
	}
	return err
}

func (d *Dir) removeTree(label, name string) error {
	st, err := d.Stat(label, name)
	if err != nil {
		return ignoreMissing(err)
	}
	if !st.Dir {
		return ignoreMissing(d.Remove(label, name))
	}
	sub, err := d.Sub(name)
	if err != nil {
		return err
	}
	err = errors.Join(sub.RemoveAll(label), sub.Close())
	return errors.Join(err, ignoreMissing(d.RemoveDir(label, name)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
