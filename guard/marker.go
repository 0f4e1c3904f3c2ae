package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"memfs/store"
)

// Why a directory's marker does not prove that it belongs to a store (R13).
var (
	ErrMarkerMissing = errors.New("the marker file is missing")
	ErrMarkerAltered = errors.New("the marker file was altered")
)

// WriteMarker puts the store's marker into a directory, over whatever file has
// its name. A link there is refused: it could lead anywhere.
func WriteMarker(dir, storeID string) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(filepath.Join(dir, store.MarkerName), flags, 0o600)
	if err != nil {
		return fmt.Errorf("write marker: %w", err)
	}
	_, err = f.Write(store.Marker(storeID))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write marker: %w", err)
	}
	return nil
}

// CheckMarker reports whether a directory holds exactly the store's marker:
// nil, ErrMarkerMissing or ErrMarkerAltered, or what prevented looking.
func CheckMarker(dir, storeID string) error {
	name := filepath.Join(dir, store.MarkerName)
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", dir, ErrMarkerMissing)
	case err != nil:
		return fmt.Errorf("read marker: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w: it is no regular file", dir, ErrMarkerAltered)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("read marker: %w", err)
	}
	defer f.Close()
	want := store.Marker(storeID)
	got, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	if err != nil {
		return fmt.Errorf("read marker: %w", err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: %w", dir, ErrMarkerAltered)
	}
	return nil
}
