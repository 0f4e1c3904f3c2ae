//go:build linux

package fs

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWarmUseAsksNothing: what the kernel has seen costs no message.
func TestWarmUseAsksNothing(t *testing.T) {
	m := newMount(t, map[string]string{"/d/a.md": "text", "/d/b.md": "text"})
	use := func() {
		m.list("d")
		m.read("d/a.md")
		m.stat("d/a.md")
		assert.NoFileExists(t, m.at("d/none"))
	}
	use()
	use() // the first read let access times be asked for again
	m.do(order{Do: "counts"})
	use()
	assert.Empty(t, m.do(order{Do: "counts"}).Counts)

	m.write("d/c.md", "new")
	m.do(order{Do: "counts"})
	assert.Equal(t, "new", m.read("d/c.md"))
	assert.LessOrEqual(t, m.do(order{Do: "counts"}).Counts["read"], 1)
	m.read("d/c.md")
	require.NoError(t, os.Chmod(m.at("d/c.md"), 0o600))
	m.stat("d/c.md")
	m.do(order{Do: "counts"})
	m.read("d/c.md")
	assert.Zero(t, m.do(order{Do: "counts"}).Counts["read"], "chmod costs no pages")
}

func TestR2_NewNameDropsNegativeEntry(t *testing.T) {
	m := newMount(t, map[string]string{"/d/a": "a"})
	require.False(t, exists(m.at("d/new")))
	assert.Equal(t, []string{"a"}, m.list("d"))

	m.put("/d/new", "remote")
	m.eventually("negative entry dropped", func() bool { return exists(m.at("d/new")) })
	assert.Equal(t, "remote", m.read("d/new"))
	m.eventually("listing refreshed", func() bool { return len(m.list("d")) == 2 })
}

// TestR2_NameNeverLookedUp: the kernel has no entry that a notification could
// drop, but it has the listing.
func TestR2_NameNeverLookedUp(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "a"})
	assert.Equal(t, []string{"a"}, m.list(""))
	before := mtime(m.stat(""))
	m.put("/b/c/d", "deep")
	m.eventually("listing refreshed", func() bool { return len(m.list("")) == 2 })
	assert.Less(t, before, mtime(m.stat("")), "the directory's mtime moves")
	assert.Equal(t, "deep", m.read("b/c/d"))
}

// TestR2_RemoteEditSwapsTheInode: whoever has the file open keeps the old
// text whole, whoever opens it sees the new one whole.
func TestR2_RemoteEditSwapsTheInode(t *testing.T) {
	old, changed := strings.Repeat("old", 1000), strings.Repeat("changed", 1500)
	m := newMount(t, map[string]string{"/a": old})
	f, err := os.Open(m.at("a"))
	require.NoError(t, err)
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, len(old), unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { assert.NoError(t, unix.Munmap(page)) }()
	before := m.stat("a")
	require.Equal(t, old, m.read("a"))

	m.put("/a", changed)

	m.eventually("new text", func() bool { return m.stat("a").Size == int64(len(changed)) })
	assert.Equal(t, changed, m.read("a"))
	after := m.stat("a")
	assert.NotEqual(t, before.Ino, after.Ino)
	assert.Less(t, mtime(before), mtime(after))
	kept := make([]byte, len(old)+10)
	n, _ := f.ReadAt(kept, 0)
	assert.Equal(t, old, string(kept[:n]))
	assert.Equal(t, old, string(page))
	var stat unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &stat))
	assert.EqualValues(t, len(old), stat.Size)
	assert.Equal(t, before.Ino, stat.Ino)
	assert.Equal(t, []string{"a"}, m.list(""))
}

func TestRemoteDeleteAndMove(t *testing.T) {
	m := newMount(t, map[string]string{"/d/a": "a", "/d/b": "b", "/e/c": "c"})
	inos := map[string]uint64{"c": m.stat("e/c").Ino}
	m.list("d")
	m.do(order{Do: "drop", Path: "/d/a"})
	m.eventually("gone", func() bool { return !exists(m.at("d/a")) })
	m.eventually("listed no more", func() bool { return len(m.list("d")) == 1 })

	f, err := os.Open(m.at("e/c"))
	require.NoError(t, err)
	defer f.Close()
	m.do(order{Do: "move", Path: "/e/c", To: "/d/moved"})
	m.eventually("moved", func() bool { return exists(m.at("d/moved")) && !exists(m.at("e")) })
	assert.Equal(t, "c", m.read("d/moved"))
	assert.Equal(t, inos["c"], m.stat("d/moved").Ino, "a move keeps the inode")
	assert.EqualValues(t, 1, m.stat("d/moved").Nlink)
	m.eventually("both listed", func() bool { return len(m.list("d")) == 2 })
}

// TestCreateMeetsRemoteCreate: until the kernel has heard of a new name it
// takes an open with O_CREAT for a create.
func TestCreateMeetsRemoteCreate(t *testing.T) {
	m := newMount(t, nil)
	require.False(t, exists(m.at("a")))
	m.do(order{Do: "abandon"})
	m.put("/a", "remote")
	require.False(t, exists(m.at("a")), "the kernel heard of it: this test proves nothing")

	fd, err := unix.Open(m.at("a"), unix.O_CREAT|unix.O_RDWR, 0o644)
	require.NoError(t, err)
	text := make([]byte, 10)
	n, err := unix.Read(fd, text)
	require.NoError(t, err)
	assert.Equal(t, "remote", string(text[:n]))
	require.NoError(t, unix.Close(fd))

	require.False(t, exists(m.at("b")))
	m.put("/b", "remote")
	_, err = unix.Open(m.at("b"), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o644)
	assert.ErrorIs(t, err, unix.EEXIST)
}

// TestChangesWhileDirectoriesAreInUse: notifications wait for the directory's
// lock and handlers for nothing, so neither ever waits for the other.
func TestChangesWhileDirectoriesAreInUse(t *testing.T) {
	m := newMount(t, map[string]string{"/d/a": "a"})
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			name := m.at("d/local")
			if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
				ended <- err
				return
			}
			if err := os.Rename(name, m.at("d/renamed")); err != nil {
				ended <- err
				return
			}
		}
	}()
	for i := range 100 {
		m.put("/d/a", strings.Repeat("a", i+1))
		m.put("/d/new", strings.Repeat("n", i+1))
		m.do(order{Do: "drop", Path: "/d/new"})
	}
	close(stop)
	require.NoError(t, <-ended)
	m.eventually("last text", func() bool { return len(m.read("d/a")) == 100 })
	m.eventually("gone", func() bool { return !exists(m.at("d/new")) })
}

// TestR2_NoTornReads: while the text of a file changes remotely again and
// again, each reader sees one version whole, at its own size.
func TestR2_NoTornReads(t *testing.T) {
	version := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 3000+i%7*1000) }
	m := newMount(t, map[string]string{"/a": version(0)})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				text, err := os.ReadFile(m.at("a"))
				if !assert.NoError(t, err) || !assert.NotEmpty(t, text) {
					return
				}
				if len(text)%1000 != 0 || strings.Count(string(text), string(text[:1])) != len(text) {
					t.Errorf("two versions mixed in %d bytes", len(text))
					return
				}
			}
		})
	}
	for i := range 200 {
		m.put("/a", version(i))
	}
	close(stop)
	readers.Wait()
	m.eventually("last version", func() bool { return m.read("a") == version(199) })
}

// R12: what was changed by one form of a name is so by the other when the call
// returns: what is written then must not go to the file that was there before.
func TestR12_AChangeByTheOtherFormIsSeenAtOnce(t *testing.T) {
	m := newMount(t, nil)
	for i := range 200 {
		kept, other := fmt.Sprint("\u00e9", i), fmt.Sprint("e\u0301", i)
		require.False(t, exists(m.at(kept)))
		m.write(other, "one")
		require.Equal(t, "one", m.read(kept))
		require.NoError(t, os.Remove(m.at(other)))
		m.write(kept, "two")
		require.Equal(t, "two", m.read(other))
		m.write("new~", "three")
		require.NoError(t, os.Rename(m.at("new~"), m.at(other)))
		m.write(kept, "four")
		require.Equal(t, "four", m.read(other))
	}
}

// TestR2_AStaleNameIsLookedUpBeforeItMoves: where the kernel was not told yet
// that a name is another file's, and is to move or remove that name, it has to
// look again. Otherwise it would move its old file in its cache and memfs the new
// one, and everything written afterwards would go to a file that was replaced.
func TestR2_AStaleNameIsLookedUpBeforeItMoves(t *testing.T) {
	m := newMount(t, map[string]string{"/a": "old a", "/b": "old b", "/c": "old c", "/d/f": "old d/f", "/m": "m"})
	for _, name := range []string{"a", "b", "c", "d/f", "m"} {
		m.read(name)
	}
	m.write("mine", "mine")
	m.do(order{Do: "abandon"})
	for _, path := range []string{"/a", "/b", "/c", "/d/f"} {
		m.put(path, "new "+path[1:])
	}
	m.do(order{Do: "move", Path: "/m", To: "/n"})
	require.Equal(t, "old a", m.read("a"), "the kernel was told")

	require.NoError(t, os.Rename(m.at("a"), m.at("z")))
	assert.Equal(t, "new a", m.read("z"))
	assert.False(t, exists(m.at("a")))

	require.NoError(t, os.Remove(m.at("b")))
	assert.False(t, exists(m.at("b")))

	require.NoError(t, os.Rename(m.at("mine"), m.at("c")), "over a text that nobody has seen")
	assert.Equal(t, "mine", m.read("c"))

	require.NoError(t, os.Rename(m.at("d"), m.at("e")), "a directory is the same one")
	require.NoError(t, os.Rename(m.at("e/f"), m.at("f")))
	assert.Equal(t, "new d/f", m.read("f"))

	require.ErrorIs(t, os.Rename(m.at("m"), m.at("o")), unix.ENOENT)
	require.NoError(t, os.Rename(m.at("n"), m.at("o")))
	assert.Equal(t, "m", m.read("o"))
	assert.Equal(t, []string{"c", "e", "f", "o", "z"}, m.list("."))
}
