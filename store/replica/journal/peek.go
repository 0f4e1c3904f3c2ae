package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"memfs/store/replica/disk"
)

// ReadHeader reads a journal's header alone and changes nothing, so that it may
// be called while another process appends. Errors are those of Read.
func ReadHeader(dir *disk.Dir, name string) (h Header, err error) {
	path := filepath.Join(dir.Path(), name)
	f, err := dir.OpenFile(labelRead, name, false)
	if err != nil {
		return Header{}, fmt.Errorf("open journal: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat(labelRead)
	if err != nil {
		return Header{}, err
	}
	h, _, _, err = decodeHeader(bufio.NewReader(io.NewSectionReader(readerAt{f}, 0, st.Size)), path)
	if err != nil {
		return Header{}, fmt.Errorf("read journal %s: %w", path, err)
	}
	return h, nil
}
