package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// MaxPayload bounds one payload in bytes, so that a damaged length cannot ask
// for all memory.
const MaxPayload = 16 << 20

// frameHead is how many bytes stand before a frame's payload.
const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type salt [8]byte

// appendFrame appends to buf the frame that payload has at offset off.
func appendFrame(buf []byte, s salt, off int64, payload []byte) []byte {
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(payload)))
	buf = binary.LittleEndian.AppendUint32(buf, checksum(s, off, payload))
	return append(buf, payload...)
}

func checksum(s salt, off int64, payload []byte) uint32 {
	var place [20]byte
	copy(place[:], s[:])
	binary.LittleEndian.PutUint64(place[8:], uint64(off))
	binary.LittleEndian.PutUint32(place[16:], uint32(len(payload)))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, payload)
}

var (
	errEnd = errors.New("end of the frames")
	errBad = errors.New("bad frame")
)

// frames reads frames one after the other.
type frames struct {
	r    io.Reader // stands at off
	salt salt
	off  int64 // of the next frame
	end  int64 // nothing is read beyond
}

// next returns the next payload; errEnd where only a zero length or nothing
// follows, errBad for a frame that does not verify, or the reader's error.
func (f *frames) next() ([]byte, error) {
	var head [frameHead]byte
	room := f.end - f.off
	if err := f.fill(head[:min(frameHead, room)]); err != nil {
		return nil, err
	}
	if head == [frameHead]byte{} {
		return nil, errEnd
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length == 0 || length > MaxPayload || length > room-frameHead {
		return nil, errBad
	}
	payload := make([]byte, length)
	if err := f.fill(payload); err != nil {
		return nil, err
	}
	if checksum(f.salt, f.off, payload) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errBad
	}
	f.off += frameHead + length
	return payload, nil
}

// fill reads all of p; a file that became shorter meanwhile is a bad frame.
func (f *frames) fill(p []byte) error {
	_, err := io.ReadFull(f.r, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errBad
	}
	return err
}
