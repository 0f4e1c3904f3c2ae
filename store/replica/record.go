package replica

import (
	"memfs/store"
)

// kind names a record of the journal. The numbers are part of the on-disk
// format: they are never given a new meaning.
type kind uint64

const (
	recNode     kind = 1  // a file or directory comes to exist under a name
	recWrite    kind = 2  // bytes at an offset of a file
	recTruncate kind = 3  // a file gets a new size
	recAttr     kind = 4  // mode, owner and times
	recUnlink   kind = 5  // a name goes, and with it the file or directory
	recRename   kind = 6  // a name moves, replacing what stood at the new one
	recContent  kind = 7  // a file's whole content is a known object
	recDetach   kind = 8  // a remote change takes a file's name away
	recCarry    kind = 9  // a file carries a memory's id
	recBase     kind = 10 // base of one memory moves
	recUnbase   kind = 11 // a memory leaves base
	recSent     kind = 12 // a request went to the store
	recSettled  kind = 13 // its outcome is known
	recSynced   kind = 14 // fsync of an emptied file: it is meant to be empty
	recFailed   kind = 15 // a write could not be kept
	recDirty    kind = 16 // when a file became dirty (checkpoints only)
	recTouched  kind = 17 // when a base path was touched (checkpoints only)
	recCounters kind = 18 // numbers that must not be reused (checkpoints only)
	recBefore   kind = 19 // what an emptied file held (checkpoints only)
	recSaved    kind = 20 // a stray text is in the conflict area
	recLift     kind = 21 // a remote rename takes a file from its name ...
	recPlace    kind = 22 // ... and gives it another
	recVerdict  kind = 23 // what is decided about a memory's local delete
	recCounted  kind = 24 // a delete went to the store that counts as one of many
)

// Flags of records.
const (
	flagDir      = 1 << iota // recNode: a directory
	flagMade                 // recNode: a directory made here, not implied by a path of the store
	flagOrphan               // recNode: has no name any more
	flagReplaced             // recNode: a remote change took its name
	flagEmptied              // recDirty: truncated or created, not written since
	flagFailed               // recDirty: the last write could not be kept
	flagLocal                // recContent: the text was made here, the store may not have it
	flagKept                 // recDirty: a replaced file has no text that is to be kept
)

// record is one entry of the journal. Which fields count depends on the kind;
// see fields. Times are nanoseconds since 1970.
type record struct {
	kind      kind
	ino       uint64
	parent    uint64
	newParent uint64
	name      string
	newName   string
	flags     uint64
	mode      uint64
	uid, gid  uint64
	atime     uint64
	mtime     uint64
	ctime     uint64
	btime     uint64
	time      uint64
	since     uint64
	off       uint64
	size      uint64
	data      []byte
	id        string
	version   string
	path      string
	sha       store.SHA
	seq       uint64
	op        uint64
}

// fields is the on-disk layout of every kind, for writing and for reading.
func (r *record) fields(c *codec) {
	c.uint((*uint64)(&r.kind))
	switch r.kind {
	case recNode:
		c.uints(&r.ino, &r.parent, &r.flags, &r.mode, &r.uid, &r.gid, &r.atime, &r.mtime, &r.ctime, &r.btime)
		c.text(&r.name)
	case recWrite:
		c.uints(&r.ino, &r.off, &r.time)
		c.bytes(&r.data)
	case recTruncate:
		c.uints(&r.ino, &r.size, &r.time)
	case recAttr:
		c.uints(&r.ino, &r.mode, &r.uid, &r.gid, &r.atime, &r.mtime, &r.ctime)
	case recUnlink:
		c.uints(&r.parent, &r.time)
		c.text(&r.name)
	case recRename:
		c.uints(&r.parent, &r.newParent, &r.time)
		c.texts(&r.name, &r.newName)
	case recContent, recBefore:
		c.uints(&r.ino, &r.size, &r.flags)
		c.sha(&r.sha)
		c.texts(&r.id, &r.version)
	case recDetach:
		c.uints(&r.ino, &r.time)
	case recCarry:
		c.uint(&r.ino)
		c.text(&r.id)
	case recBase:
		c.texts(&r.id, &r.version, &r.path)
		c.sha(&r.sha)
		c.uints(&r.size, &r.btime, &r.mtime)
	case recUnbase:
		c.text(&r.id)
	case recSent:
		c.uints(&r.seq, &r.op, &r.ino, &r.time)
		c.texts(&r.id, &r.path)
		c.sha(&r.sha)
	case recSettled:
		c.uint(&r.seq)
	case recPlace:
		c.uints(&r.ino, &r.parent, &r.time)
		c.text(&r.name)
	case recSynced, recFailed, recSaved, recLift:
		c.uint(&r.ino)
	case recDirty:
		c.uints(&r.ino, &r.flags, &r.time, &r.mtime, &r.since)
		c.texts(&r.id, &r.path)
	case recTouched:
		c.uints(&r.time, &r.since)
		c.text(&r.id)
	case recVerdict:
		c.uint(&r.flags)
		c.text(&r.id)
	case recCounted:
		c.uints(&r.time, &r.size)
		c.text(&r.id)
	case recCounters:
		c.uints(&r.ino, &r.seq, &r.flags)
	}
}

func (k kind) known() bool { return k >= recNode && k <= recCounted }

// encode makes one payload of records: they are replayed all or none.
func encode(records ...record) []byte { return appendRecords(nil, records) }

// appendRecords appends their payload to buf.
func appendRecords(buf []byte, records []record) []byte {
	c := codec{out: buf}
	for i := range records {
		records[i].fields(&c)
	}
	return c.out
}

// decode splits a payload into its records.
func decode(payload []byte) ([]record, error) {
	c := codec{reading: true, in: payload}
	var out []record
	for len(c.in) > 0 {
		var r record
		r.fields(&c)
		if c.err == nil && !r.kind.known() {
			c.fail()
		}
		if c.err != nil {
			return nil, c.err
		}
		out = append(out, r)
	}
	return out, nil
}
