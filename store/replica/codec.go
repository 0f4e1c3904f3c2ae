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
// them, so that both directions are described once (record.fields). It is one
// type and not two behind an interface, so that writing allocates nothing.
type codec struct {
	out []byte // what was written

	reading bool
	in      []byte // what is left to read
	err     error  // after an error every field that is read is zero
}

func (c *codec) uint(p *uint64) {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, *p)
		return
	}
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.fail()
		*p = 0
		return
	}
	*p, c.in = v, c.in[n:]
}

func (c *codec) uints(fields ...*uint64) {
	for _, p := range fields {
		c.uint(p)
	}
}

func (c *codec) texts(fields ...*string) {
	for _, p := range fields {
		c.text(p)
	}
}

func (c *codec) text(p *string) {
	if c.reading {
		*p = string(c.take())
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(len(*p)))
	c.out = append(c.out, *p...)
}

// bytes, when read, alias the payload, which nobody changes after it was read.
func (c *codec) bytes(p *[]byte) {
	if c.reading {
		*p = c.take()
		return
	}
	c.out = binary.AppendUvarint(c.out, uint64(len(*p)))
	c.out = append(c.out, *p...)
}

func (c *codec) sha(p *store.SHA) {
	if !c.reading {
		c.out = append(c.out, p[:]...)
		return
	}
	if len(c.in) < len(p) {
		c.fail()
		*p = store.SHA{}
		return
	}
	c.in = c.in[copy(p[:], c.in):]
}

func (c *codec) take() []byte {
	var n uint64
	c.uint(&n)
	if n > math.MaxInt32 || int(n) > len(c.in) {
		c.fail()
		return nil
	}
	b := c.in[:n:n]
	c.in = c.in[n:]
	return b
}

func (c *codec) fail() {
	c.err = errGarbled
	c.in = nil
}
