package replica

import (
	"fmt"

	"memfs/store"
)

func (t *tree) applyWrite(n *node, r *record) error {
	if r.off > maxSize {
		return fmt.Errorf("%w: write at %d", errGarbled, r.off)
	}
	end := int(r.off) + len(r.data)
	replaced := r.off == 0 && int64(end) >= n.content.size
	if n.content.buf == nil && n.content.size > 0 && !replaced {
		return fmt.Errorf("%w: inode %d", errUnloaded, n.ino)
	}
	buf := n.content.buf
	if end > len(buf) {
		buf = grow(buf, end)
	}
	copy(buf[r.off:], r.data)
	t.resize(n, int64(len(buf)))
	n.content = content{buf: buf, size: int64(len(buf))}
	n.emptied, n.before = false, nil
	n.damaged, n.failed = n.damaged && !replaced, n.failed && !replaced
	t.changed(n, int64(r.time))
	return nil
}

func (t *tree) applyTruncate(n *node, r *record) error {
	size := int64(r.size)
	switch {
	case size == 0:
		if n.content.size > 0 && n.before == nil {
			before := n.content
			n.before = &before
		}
		n.emptied, n.failed, n.damaged = true, false, false
		t.resize(n, 0)
		n.content = empty()
	case size > maxSize:
		return fmt.Errorf("%w: truncate to %d", errGarbled, size)
	case n.content.buf == nil && n.content.size > 0:
		return fmt.Errorf("%w: inode %d", errUnloaded, n.ino)
	default:
		buf := n.content.buf
		if size > int64(len(buf)) {
			buf = grow(buf, int(size))
		}
		buf = buf[:size:size] // what was cut off must not come back
		// What was cut on purpose is no half save any more.
		n.failed = n.failed && size > n.content.size
		t.resize(n, size)
		n.content = content{buf: buf, size: size}
		n.emptied, n.before = false, nil
	}
	t.changed(n, int64(r.time))
	return nil
}

// changed notes a change of a file's content.
func (t *tree) changed(n *node, now int64) {
	n.mtime, n.ctime, n.written = now, now, now
	if n.replaced {
		t.strays[n.ino] = n
		n.gen++
		return
	}
	if n.parent != nil {
		t.markFile(n, now)
	}
}

// grow extends b with zeros to size. What grows has room for more: most files
// are written once and never grow, some are appended to many times.
func grow(b []byte, size int) []byte {
	if size <= cap(b) {
		old := len(b)
		b = b[:size]
		clear(b[old:])
		return b
	}
	room := size
	if len(b) > 0 {
		room += size / 2
	}
	bigger := make([]byte, size, room)
	copy(bigger, b)
	return bigger
}

// hash makes sha the hash of a changed content.
func (c *content) hash() store.SHA {
	if c.buf != nil && !c.hashed {
		c.sha, c.hashed = store.Hash(c.buf), true
	}
	return c.sha
}
