package logging

import (
	"errors"
	"fmt"
	"os"
)

// maxFile is the size at which a log file gives way to a new one; the one
// before it is kept under the name with ".1".
const maxFile = 8 << 20

// Open opens a log file to write at its end. Several processes may write to
// one.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		err = os.Rename(path, path+".1")
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("log file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	return f, nil
}
