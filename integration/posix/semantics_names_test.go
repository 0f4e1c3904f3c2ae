//go:build linux

package posix

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

func naming() map[string]func(*scene) {
	const composed, decomposed = "\u00e9.md", "e\u0301.md"
	return map[string]func(*scene){
		"S-NFC": func(s *scene) {
			s.write(decomposed, "text")
			assert.Equal(s, []string{composed}, s.list(""))
			assert.Equal(s, "text", s.read(composed))
			assert.Equal(s, "text", s.read(decomposed))
			s.m.Sync()
			s.stored(composed)
			s.m.Put(s.memory(composed), "from the store")
			s.m.Sync()
			assert.Equal(s, "from the store", s.read(decomposed))
			require.NoError(s, os.Remove(s.at(decomposed)))
			assert.NoFileExists(s, s.at(composed))
		},
		"S-case": func(s *scene) {
			s.write("a", "small")
			s.write("A", "large")
			assert.ElementsMatch(s, []string{"A", "a"}, s.list(""))
			s.m.Sync()
			assert.Equal(s, "small", string(s.stored("a").Content))
			assert.Equal(s, "large", string(s.stored("A").Content))
		},
		"S-backslash": func(s *scene) {
			s.write(`a\b`, "text")
			s.m.Sync()
			s.stored(`a\b`)
		},
		"S-illegal-names": func(s *scene) {
			s.write("a", "text")
			for _, name := range []string{"a\x01", "line\nfeed", "del\x7f", "zero\u200bwidth", "bom\ufeff", "para\u2029", "\xff"} {
				_, err := os.Create(s.at(name))
				s.fails(unix.EINVAL, err)
				s.fails(unix.EINVAL, os.Mkdir(s.at(name), 0o755))
				s.fails(unix.EINVAL, os.Rename(s.at("a"), s.at(name)))
				assert.NoFileExists(s, s.at(name))
			}
			assert.Equal(s, []string{"a"}, s.list(""))
		},
		"S-name-limits": func(s *scene) {
			s.write(strings.Repeat("n", 255), "text")
			_, err := os.Create(s.at(strings.Repeat("n", 256)))
			s.fails(unix.ENAMETOOLONG, err)
			_, err = os.Stat(s.at(strings.Repeat("n", 256)))
			s.fails(unix.ENAMETOOLONG, err)

			deepest := strings.Repeat("/d", store.MaxSegments-2) // below the scene's own directory
			s.mkdir(deepest)
			s.write(filepath.Join(deepest, "a"), "text")
			s.mkdir(filepath.Join(deepest, "d"))
			s.fails(unix.ENAMETOOLONG, os.Mkdir(s.at(filepath.Join(deepest, "d/e")), 0o755))
			s.m.Sync()
			s.stored(filepath.Join(deepest, "a"))

			long := strings.Repeat("/"+strings.Repeat("l", 199), 4)
			s.mkdir(long)
			room := store.MaxPath - len(s.memory(long)) - 1
			s.write(filepath.Join(long, strings.Repeat("n", room)), "text")
			_, err = os.Create(s.at(filepath.Join(long, strings.Repeat("n", room+1))))
			s.fails(unix.ENAMETOOLONG, err)
			s.m.Sync()
			s.stored(filepath.Join(long, strings.Repeat("n", room)))
			s.fails(unix.ENAMETOOLONG, os.Rename(s.at(long[:200]), s.at(long[:200]+"l")))
			s.mkdir("other")
			s.fails(unix.ENAMETOOLONG, os.Rename(s.at("d"), s.at("other/d")))
		},
	}
}

func renames() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-rename": func(s *scene) {
			s.write("a", "text")
			s.m.Sync()
			before := s.stored("a")
			s.mkdir("d")
			require.NoError(s, os.Rename(s.at("a"), s.at("d/b")))
			assert.Equal(s, 1, s.m.Sync().Pushed)
			assert.Equal(s, before.ID, s.stored("d/b").ID, "id and history stay")
			s.absent("a")
		},
		"S-rename-over": func(s *scene) {
			s.write("a", "old")
			s.m.Sync()
			before := s.stored("a")
			fd := s.open("a", unix.O_RDONLY)
			s.write("b", "new")
			require.NoError(s, os.Rename(s.at("b"), s.at("a")))
			assert.Equal(s, "new", s.read("a"))
			assert.Equal(s, "old", s.fd(fd), "who has it open keeps the old text")
			s.m.Sync()
			assert.Equal(s, before.ID, s.stored("a").ID, "that memory gets the new content")
			assert.Equal(s, "new", string(s.stored("a").Content))
			s.absent("b")
		},
		"S-rename-directories": func(s *scene) {
			s.mkdir("d")
			s.mkdir("empty")
			s.mkdir("full")
			s.write("d/a", "text")
			s.write("full/b", "text")
			s.m.Sync()
			s.fails(unix.ENOTEMPTY, unix.Rename(s.at("d"), s.at("full")))
			s.fails(unix.ENOTDIR, unix.Rename(s.at("d"), s.at("full/b")))
			s.fails(unix.EISDIR, unix.Rename(s.at("full/b"), s.at("d")))
			s.fails(unix.EINVAL, unix.Rename(s.at("d"), s.at("d/below")))
			require.NoError(s, unix.Rename(s.at("d"), s.at("empty")))
			assert.Equal(s, "text", s.read("empty/a"))
			s.m.Sync()
			s.stored("empty/a")
			s.absent("d/a")
		},
		"S-NOREPLACE": func(s *scene) {
			s.write("a", "a")
			s.write("b", "b")
			rename := func(flags uint) error {
				return unix.Renameat2(unix.AT_FDCWD, s.at("a"), unix.AT_FDCWD, s.at("b"), flags)
			}
			s.fails(unix.EEXIST, rename(unix.RENAME_NOREPLACE))
			s.fails(unix.EINVAL, rename(unix.RENAME_EXCHANGE))
			s.fails(unix.EINVAL, rename(unix.RENAME_WHITEOUT))
			require.NoError(s, os.Remove(s.at("b")))
			require.NoError(s, rename(unix.RENAME_NOREPLACE))
			assert.Equal(s, "a", s.read("b"))
		},
		"S-EXDEV": func(s *scene) {
			other := s.own(mounttest.Options{})
			s.write("a", "text")
			s.fails(unix.EXDEV, os.Rename(s.at("a"), other.at("a")))
			s.shell("mv a " + other.at("a"))
			assert.Equal(s, "text", other.read("a"))
			assert.Empty(s, s.list(""))
		},
		"S-rename-too-large": func(s *scene) {
			s.write("a~", strings.Repeat("x", store.MaxContent+1))
			s.fails(unix.EFBIG, os.Rename(s.at("a~"), s.at("a")))
			assert.Equal(s, []string{"a~"}, s.list(""))
		},
	}
}

func directories() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-mkdir": func(s *scene) {
			s.mkdir("d/e")
			s.write("d/e/a", "text")
			s.m.Sync()
			s.stored("d/e/a")
			require.NoError(s, os.Remove(s.at("d/e/a")))
			s.m.Sync()
			assert.DirExists(s, s.at("d/e"), "it stays until rmdir")
			s.write("d/e/b", "text")
			s.m.Sync()
			s.m.Delete(s.memory("d/e/b"))
			s.m.Sync()
			assert.DirExists(s, s.at("d/e"), "also when its last file goes remotely")
			s.m.Put(s.memory("remote/a"), "text")
			s.m.Sync()
			assert.DirExists(s, s.at("remote"))
			s.m.Delete(s.memory("remote/a"))
			s.m.Sync()
			assert.NoDirExists(s, s.at("remote"), "one that came from the store goes with its last file (R9)")
		},
		"S-rmdir": func(s *scene) {
			s.mkdir("d")
			s.write("d/a", "text")
			s.fails(unix.ENOTEMPTY, unix.Rmdir(s.at("d")))
			s.fails(unix.ENOTDIR, unix.Rmdir(s.at("d/a")))
			s.fails(unix.EISDIR, unix.Unlink(s.at("d")))
			require.NoError(s, os.Remove(s.at("d/a")))
			require.NoError(s, unix.Rmdir(s.at("d")))
			assert.NoDirExists(s, s.at("d"))
		},
		"S-rmdir-cwd": func(s *scene) {
			said := s.shell(`mkdir d; cd d; rmdir ../d; ls -A | wc -l; touch a 2>&1 || true; mkdir e 2>&1 || true; cd ..; ls -A | wc -l`)
			assert.Equal(s, 2, strings.Count(said, "No such file or directory"), said)
			assert.Equal(s, 2, strings.Count(said, "0\n"), said)
		},
		"S-readdir": func(s *scene) {
			for i := range 500 {
				s.write(fmt.Sprintf("f%03d", i), "")
			}
			dir, err := os.Open(s.at(""))
			require.NoError(s, err)
			defer dir.Close()
			seen, err := dir.Readdirnames(100)
			require.NoError(s, err)
			gone := seen[0]
			require.NoError(s, os.Remove(s.at(gone)))
			require.NoError(s, os.Remove(s.at("f499")))
			s.write("new", "")
			for {
				more, err := dir.Readdirnames(100)
				seen = append(seen, more...)
				if err != nil {
					break
				}
			}
			slices.Sort(seen)
			assert.Len(s, slices.Compact(slices.Clone(seen)), len(seen), "nothing twice")
			for i := range 499 {
				assert.Contains(s, seen, fmt.Sprintf("f%03d", i))
			}
			assert.Len(s, s.list(""), 499)
			s.m.Put(s.memory("remote"), "text")
			s.m.Sync()
			assert.Contains(s, s.list(""), "remote", "a remote change drops what the kernel kept")
			require.NoError(s, os.RemoveAll(s.at("")), "the other tests list the store often")
		},
		"S-setgid": func(s *scene) {
			s.mkdir("d")
			require.NoError(s, unix.Chmod(s.at("d"), 0o2755))
			s.mkdir("d/e")
			assert.NotZero(s, s.stat("d/e").Mode&unix.S_ISGID)
			s.write("d/a", "text")
			assert.Equal(s, s.stat("d").Gid, s.stat("d/a").Gid)
		},
	}
}

func sizes() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-full": func(s *scene) {
			s = s.own(mounttest.Options{MaxMemories: 3, Files: map[string]string{"/a": "", "/b": "", "/c": ""}})
			for i := range 64 {
				s.write(fmt.Sprintf("more-%d", i), "text")
			}
			_, err := os.Create(s.at("one-more"))
			s.fails(unix.ENOSPC, err)
			s.write("a", "a file that is there can be changed")
			s.write("local~", "and local-only ones made")
			require.NoError(s, os.Remove(s.at("more-0")))
			s.write("one-more", "room again")
		},
		"S-scratch": func(s *scene) {
			s.mkdir(".git")
			for _, name := range []string{".git/config", ".DS_Store", "._a", ".a.swp", "4913", "a~", ".#a", "#a#", ".nfs1", ".agenttoolset-1"} {
				s.write(name, "local")
				assert.Equal(s, "scratch", attribute(s.T, s.at(name), "state"), name)
			}
			s.write("a~", strings.Repeat("x", 1<<20))
			s.m.Sync()
			for path := range s.m.Memories() {
				assert.NotContains(s, path, s.memory("")+"/")
			}
			s.m.Put(s.memory("b~"), "the store holds this name")
			s.m.Sync()
			assert.Eventually(s, func() bool { return attribute(s.T, s.at("b~"), "state") == "clean" }, time.Minute, 10*time.Millisecond,
				"its text may come a moment later")
			require.NoError(s, os.Rename(s.at(".#a"), s.at("a")))
			s.m.Sync()
			assert.Equal(s, "local", string(s.stored("a").Content), "renamed to a name that is not")
		},
		"S-scratch-full": func(s *scene) {
			s = s.own(mounttest.Options{})
			fd := s.open("a~", unix.O_CREAT|unix.O_RDWR)
			block := make([]byte, 1<<20)
			for {
				_, err := unix.Write(fd, block)
				if err != nil {
					s.fails(unix.ENOSPC, err)
					break
				}
			}
			assert.EqualValues(s, 64<<20, s.stat("a~").Size)
			s.write("memory", "is not concerned")
		},
	}
}
