//go:build linux

package posix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// fsx is a file on a mount and the bytes that should be in it.
type fsx struct {
	t       *testing.T
	m       *mounttest.Mount
	dice    dice
	journal journal
	steps   int

	name   string
	want   []byte
	file   *os.File // nil where each operation opens the file
	reopen bool

	ino      uint64
	remote   []byte   // what another inode under the name may hold; nil for none
	replaced []string // texts that remote changes took the place of
}

// maxOffset is a bit over what a memory may have, to run into the limit.
const maxOffset = store.MaxContent + 4000

func newFsx(t *testing.T, m *mounttest.Mount, reopen bool) *fsx {
	x := &fsx{t: t, m: m, dice: roll(t), name: "fsx", reopen: reopen}
	require.NoError(t, os.WriteFile(m.At(x.name), nil, 0o600))
	x.begin()
	x.end()
	return x
}

// memory is the file's path in the store.
func (x *fsx) memory() string { return "/" + x.name }

// begin opens the file, and sees whether a remote change has replaced it.
func (x *fsx) begin() {
	if x.file == nil {
		file, err := os.OpenFile(x.m.At(x.name), os.O_RDWR, 0)
		x.must(err)
		x.file = file
	}
	var stat unix.Stat_t
	x.must(unix.Fstat(x.fd(), &stat))
	switch {
	case x.ino == stat.Ino:
	case x.ino == 0:
		x.ino = stat.Ino
	default:
		x.journal.add("inode %d is now %d", x.ino, stat.Ino)
		require.NotNil(x.t, x.remote, "%d: another inode, and no remote change; %s", x.steps, &x.journal)
		x.replaced = append(x.replaced, string(x.want))
		x.ino, x.want, x.remote = stat.Ino, slices.Clip(x.remote), nil
	}
}

func (x *fsx) end() {
	if x.reopen {
		x.close()
	}
}

func (x *fsx) close() {
	if x.file != nil {
		x.must(x.file.Close())
		x.file = nil
	}
}

func (x *fsx) fd() int { return int(x.file.Fd()) }

func (x *fsx) must(err error) {
	x.t.Helper()
	require.NoError(x.t, err, "%d: %s", x.steps, &x.journal)
}

func (x *fsx) equal(want, got any, what string) {
	x.t.Helper()
	if want != got {
		require.Equal(x.t, want, got, "%d: %s; %s", x.steps, what, &x.journal)
	}
}

// save writes the file anew, so that it is not held back for a write that hit
// the limit.
func (x *fsx) save() {
	x.t.Helper()
	x.begin()
	defer x.end()
	x.must(x.file.Truncate(0))
	_, err := x.file.WriteAt(x.want, 0)
	x.must(err)
}

// look compares the whole file.
func (x *fsx) look() {
	x.t.Helper()
	x.begin()
	defer x.end()
	got, err := io.ReadAll(io.NewSectionReader(x.file, 0, 1<<20))
	x.must(err)
	x.same(x.want, got, 0)
	var stat unix.Stat_t
	x.must(unix.Fstat(x.fd(), &stat))
	x.equal(int64(len(x.want)), stat.Size, "size")
}

// stored compares what the store holds: one memory, this file.
func (x *fsx) stored() {
	x.t.Helper()
	texts := x.m.Texts()
	require.Contains(x.t, texts, x.memory(), "%d: %s", x.steps, &x.journal)
	require.Len(x.t, texts, 1)
	x.same(x.want, []byte(texts[x.memory()]), 0)
}

// same compares bytes read at off, and names the first that is wrong.
func (x *fsx) same(want, got []byte, off int) {
	x.t.Helper()
	if string(want) == string(got) {
		return
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			require.FailNow(x.t, "wrong byte", "%d: at %d %q, not %q (%d bytes, want %d); %s", x.steps, off+i, got[i], want[i], len(got), len(want), &x.journal)
		}
	}
	x.equal(len(want), len(got), fmt.Sprint("bytes read at ", off))
}

// step is one random operation, compared with what it does to want.
func (x *fsx) step() {
	x.t.Helper()
	x.steps++
	x.begin()
	defer x.end()
	switch choice := x.dice.IntN(100); {
	case choice < 25:
		x.read()
	case choice < 45:
		x.write()
	case choice < 55:
		x.append()
	case choice < 65:
		x.truncate()
	case choice < 75:
		x.mapRead()
	case choice < 85:
		x.mapWrite()
	case choice < 88:
		x.journal.add("fsync")
		x.must(x.file.Sync())
	case choice < 91:
		x.rename()
	case choice < 94:
		x.copyRange()
	case choice < 96:
		x.journal.add("close")
		x.close()
	case choice < 97 && x.remote == nil:
		x.truncateByName()
	default:
		x.whole()
	}
}

// span is a random range that begins below limit.
func (x *fsx) span(limit int) (off, size int) {
	return x.dice.IntN(limit + 1), pick(x.dice, 1, 100, 4096, 5000, 16384, 40000) - x.dice.IntN(100)/99
}

func (x *fsx) read() {
	off, size := x.span(maxOffset)
	x.journal.add("read %d at %d", size, off)
	got := make([]byte, size)
	n, err := x.file.ReadAt(got, int64(off))
	if !errors.Is(err, io.EOF) {
		x.must(err)
	}
	x.same(x.part(off, size), got[:n], off)
}

// part is what is to be read in a range.
func (x *fsx) part(off, size int) []byte {
	off = min(off, len(x.want))
	return x.want[off:min(off+size, len(x.want))]
}

func (x *fsx) whole() {
	x.journal.add("read all of %d", len(x.want))
	got, err := io.ReadAll(io.NewSectionReader(x.file, 0, 1<<20))
	x.must(err)
	x.same(x.want, got, 0)
}

// put is what a write does to want. What is over a memory's size is not taken.
func (x *fsx) put(text []byte, off int) (taken int) {
	text = text[:max(0, min(len(text), store.MaxContent-off))]
	if len(text) > 0 {
		x.size(max(len(x.want), off+len(text)))
		copy(x.want[off:], text)
	}
	return len(text)
}

// size is what truncate does to want.
func (x *fsx) size(n int) {
	if n < len(x.want) {
		clear(x.want[n:]) // for when it grows again
	}
	x.want = slices.Grow(x.want, max(0, n-len(x.want)))[:n]
}

func (x *fsx) write() {
	off, size := x.span(maxOffset)
	text := x.dice.text(size)
	x.journal.add("write %d at %d", size, off)
	x.written(x.put(text, off), size)(unix.Pwrite(x.fd(), text, int64(off)))
}

// written checks what a write of size bytes returned, when taken were to be.
func (x *fsx) written(taken, size int) func(n int, err error) {
	return func(n int, err error) {
		x.t.Helper()
		if taken == 0 && size > 0 {
			require.ErrorIs(x.t, err, unix.EFBIG, "%d: %s", x.steps, &x.journal)
			return
		}
		x.must(err)
		x.equal(taken, n, "bytes taken")
	}
}

func (x *fsx) append() {
	text := x.dice.text(x.dice.IntN(3000) + 1)
	x.journal.add("append %d", len(text))
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", x.fd()), unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	x.must(err)
	x.written(x.put(text, len(x.want)), len(text))(unix.Write(fd, text))
	x.must(unix.Close(fd))
}

func (x *fsx) truncate() {
	size := x.newSize()
	x.journal.add("truncate from %d to %d", len(x.want), size)
	x.truncated(size, unix.Ftruncate(x.fd(), int64(size)))
}

func (x *fsx) truncateByName() {
	size := x.newSize()
	x.journal.add("truncate by name from %d to %d", len(x.want), size)
	x.truncated(size, unix.Truncate(x.m.At(x.name), int64(size)))
}

func (x *fsx) newSize() int {
	return pick(x.dice, 0, len(x.want), len(x.want)/2, x.dice.IntN(maxOffset), 4096*x.dice.IntN(20))
}

func (x *fsx) truncated(size int, err error) {
	x.t.Helper()
	if size > store.MaxContent && size != len(x.want) {
		require.ErrorIs(x.t, err, unix.EFBIG, "%d: %s", x.steps, &x.journal)
		return
	}
	x.must(err)
	x.size(size)
}

func (x *fsx) mapRead() {
	off, size := x.mapped()
	if size == 0 {
		return
	}
	x.journal.add("read %d at %d, mapped", size, off)
	kind := pick(x.dice, unix.MAP_SHARED, unix.MAP_PRIVATE)
	memory, err := unix.Mmap(x.fd(), 0, off+size, unix.PROT_READ, kind)
	x.must(err)
	x.same(x.part(off, size), memory[off:], off)
	x.must(unix.Munmap(memory))
}

// mapped is a random range within the file; a mapping has nothing behind it.
func (x *fsx) mapped() (off, size int) {
	if len(x.want) == 0 {
		return 0, 0
	}
	off, size = x.span(len(x.want) - 1)
	return off, min(size, len(x.want)-off)
}

func (x *fsx) mapWrite() {
	off, size := x.mapped()
	if size == 0 {
		return
	}
	text := x.dice.text(size)
	x.journal.add("write %d at %d, mapped", size, off)
	memory, err := unix.Mmap(x.fd(), 0, off+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	x.must(err)
	copy(memory[off:], text)
	x.put(text, off)
	if x.dice.IntN(2) == 0 {
		x.must(unix.Msync(memory, unix.MS_SYNC))
	}
	x.must(unix.Munmap(memory))
}

func (x *fsx) rename() {
	next := fmt.Sprintf("fsx-%d", x.dice.IntN(5))
	x.journal.add("rename to %s", next)
	x.must(os.Rename(x.m.At(x.name), x.m.At(next)))
	x.name = next
}

func (x *fsx) copyRange() {
	from, size := x.mapped()
	if size == 0 {
		return
	}
	to := x.dice.IntN(maxOffset)
	if to < from+size && from < to+size {
		return // EINVAL: they overlap
	}
	x.journal.add("copy %d from %d to %d", size, from, to)
	taken := x.put(append([]byte(nil), x.part(from, size)...), to)
	in, out := int64(from), int64(to)
	done := 0
	for done < taken {
		n, err := unix.CopyFileRange(x.fd(), &in, x.fd(), &out, taken-done, 0)
		x.must(err)
		require.Positive(x.t, n)
		done += n
	}
}
