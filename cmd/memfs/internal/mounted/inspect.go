package mounted

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// File is what a mount says of one file.
type File struct {
	// State is a replica.State.
	State, Reason string
	// Memory and Version are the ids that the store last agreed to; "" if it
	// never did.
	Memory, Version string
	// SHA is the hash of the local content, BaseSHA that of what the store last
	// agreed to; "" if there is none.
	SHA, BaseSHA string
	// SyncedAt is the store's time of that agreement.
	SyncedAt time.Time
}

// Inspect reads what the mount says of a file.
func Inspect(file string) (File, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) {
		return File{}, &missingError{file}
	}
	if err != nil {
		return File{}, err
	}
	if info.IsDir() {
		return File{}, fmt.Errorf("%s is a directory: name a file in it", file)
	}
	var f File
	var synced string
	for _, a := range []struct {
		name string
		to   *string
	}{
		{"state", &f.State}, {"reason", &f.Reason}, {"id", &f.Memory}, {"version", &f.Version},
		{"sha256", &f.SHA}, {"base_sha256", &f.BaseSHA}, {"synced_at", &synced},
	} {
		if *a.to, err = attribute(file, a.name); err != nil {
			return File{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	if synced != "" {
		f.SyncedAt, err = time.Parse(time.RFC3339Nano, synced)
	}
	return f, err
}

// missingError: nothing stands at a path of a mount.
type missingError struct{ file string }

func (e *missingError) Error() string { return "there is no file " + e.file + " in the mount" }

// Is makes errors.Is(err, fs.ErrNotExist) hold.
func (e *missingError) Is(target error) bool { return target == os.ErrNotExist }
