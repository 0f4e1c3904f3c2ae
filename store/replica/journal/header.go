package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

const (
	magic         = "memfsjnl"
	formatVersion = 1
	// headerFixed is the header up to its JSON, maxHeader the longest JSON.
	headerFixed = len(magic) + 4 + len(salt{}) + 4
	maxHeader   = 64 << 10
)

// Header says whose journal a file is. It is written once.
type Header struct {
	// Store is the store's id and Endpoint the API it is on.
	Store    string
	Endpoint string
	// MountPath is where the store was attached.
	MountPath string
	// Session is the session it was attached for; "" outside of one.
	Session string
	Created time.Time
	// ReadOnly: it was attached without the right to write, so that what was
	// changed is never sent.
	ReadOnly bool `json:",omitempty"`
}

// encodeHeader returns the bytes a file begins with.
func encodeHeader(h Header, s salt) ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("journal header of %d bytes: %w", len(text), ErrTooLarge)
	}
	buf := binary.LittleEndian.AppendUint32([]byte(magic), formatVersion)
	buf = append(buf, s[:]...)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(text)))
	buf = append(buf, text...)
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli)), nil
}

// decodeHeader reads a header and returns its length in the file.
func decodeHeader(r io.Reader, path string) (Header, salt, int64, error) {
	fail := func(err error) (Header, salt, int64, error) {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrHeader
		}
		return Header{}, salt{}, 0, err
	}
	fixed := make([]byte, headerFixed)
	if _, err := io.ReadFull(r, fixed); err != nil {
		return fail(err)
	}
	if !bytes.HasPrefix(fixed, []byte(magic)) {
		return fail(ErrHeader)
	}
	if version := binary.LittleEndian.Uint32(fixed[len(magic):]); version != formatVersion {
		return fail(&VersionError{Path: path, Version: version})
	}
	length := binary.LittleEndian.Uint32(fixed[headerFixed-4:])
	if length > maxHeader {
		return fail(ErrHeader)
	}
	rest := make([]byte, length+4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return fail(err)
	}
	text, sum := rest[:length], rest[length:]
	if crc32.Update(crc32.Checksum(fixed, castagnoli), castagnoli, text) != binary.LittleEndian.Uint32(sum) {
		return fail(ErrHeader)
	}
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return fail(fmt.Errorf("%w: %w", ErrHeader, err))
	}
	return h, salt(fixed[len(magic)+4:]), int64(headerFixed) + int64(len(rest)), nil
}
