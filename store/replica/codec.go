package replica

import (
	"encoding/binary"
	"errors"
	"math"

	"memfs/store"
)

// errGarbled: a payload that passed its checksum and still makes no sense.
var errGarbled = errors.New("journal record not understood")

// codec walks the fields of a record in one order, to write them or to read
// them, so that both directions are described once (record.fields).
type codec interface {
	uint(p *uint64)
	text(p *string)
	bytes(p *[]byte)
	sha(p *store.SHA)
}

// encoder appends fields to a payload.
type encoder struct{ out []byte }

func (e *encoder) uint(p *uint64) { e.out = binary.AppendUvarint(e.out, *p) }

func (e *encoder) text(p *string) {
	e.out = binary.AppendUvarint(e.out, uint64(len(*p)))
	e.out = append(e.out, *p...)
}

func (e *encoder) bytes(p *[]byte) {
	e.out = binary.AppendUvarint(e.out, uint64(len(*p)))
	e.out = append(e.out, *p...)
}

func (e *encoder) sha(p *store.SHA) { e.out = append(e.out, p[:]...) }

// decoder takes fields from a payload. After an error every field is zero.
type decoder struct {
	in  []byte
	err error
}

func (d *decoder) uint(p *uint64) {
	v, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail()
		*p = 0
		return
	}
	*p, d.in = v, d.in[n:]
}

func (d *decoder) text(p *string) { *p = string(d.take()) }

// bytes aliases the payload, which nobody changes after it was read.
func (d *decoder) bytes(p *[]byte) { *p = d.take() }

func (d *decoder) sha(p *store.SHA) {
	if len(d.in) < len(p) {
		d.fail()
		*p = store.SHA{}
		return
	}
	d.in = d.in[copy(p[:], d.in):]
}

func (d *decoder) take() []byte {
	var n uint64
	d.uint(&n)
	if n > math.MaxInt32 || int(n) > len(d.in) {
		d.fail()
		return nil
	}
	b := d.in[:n:n]
	d.in = d.in[n:]
	return b
}

func (d *decoder) fail() {
	d.err = errGarbled
	d.in = nil
}
