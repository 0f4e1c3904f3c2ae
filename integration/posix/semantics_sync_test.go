//go:build linux

package posix

import (
	"os"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// outgoing is what the store sees of what is done here.
func outgoing() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-coalesce": func(s *scene) {
			s.write("a", "one")
			s.write("a", "two")
			s.write("gone", "text")
			require.NoError(s, os.Remove(s.at("gone")))
			assert.Equal(s, 1, s.m.Sync().Pushed)
			assert.Equal(s, 1, countVersions(s.T, s.m, s.stored("a").ID))
			assert.False(s, s.m.History()[store.Hash([]byte("one"))])
			s.absent("gone")
		},
		"S-saves": func(s *scene) {
			for what, save := range map[string]string{
				"temporary file":    `echo new > tmp; mv tmp a`,
				"backup":            `mv a a.bak; echo new > a; rm a.bak`,
				"unlink and create": `rm a; echo new > a`,
				"truncate":          `echo new > a`,
			} {
				s.write("a", "old")
				s.m.Sync()
				before := s.stored("a")
				versions := countVersions(s.T, s.m, before.ID)
				s.shell(save)
				report := s.m.Sync()
				assert.Equal(s, 1, report.Pushed, what)
				assert.Zero(s, report.Deleted, what)
				after := s.stored("a")
				assert.Equal(s, before.ID, after.ID, what)
				assert.Equal(s, "new\n", string(after.Content), what)
				assert.Equal(s, versions+1, countVersions(s.T, s.m, before.ID), what)
			}
		},
		"S-delete": func(s *scene) {
			s.write("a", "text")
			s.write("b", "text")
			s.m.Sync()
			require.NoError(s, os.Remove(s.at("a")))
			require.NoError(s, os.Remove(s.at("b")))
			s.m.Put(s.memory("b"), "edited there")
			s.m.Sync()
			s.absent("a")
			assert.Equal(s, "edited there", s.read("b"), "a remote edit beats a delete (R8)")
		},
		"S-same-again": func(s *scene) {
			for what, save := range map[string]string{
				"unlink and create":       `rm a; echo same > a`,
				"temporary file":          `echo same > tmp; mv tmp a`,
				"another memory's rename": `mv b a`,
			} {
				s.write("a", "same\n")
				s.write("b", "same\n")
				s.m.Sync()
				before := s.stored("a")
				s.shell(save)
				report := s.m.Sync()
				assert.Zero(s, report.Pushed, what)
				assert.Equal(s, before.VersionID, s.stored("a").VersionID, what)
				assert.Equal(s, "clean", attribute(s.T, s.at("a"), "state"), what)
			}
		},
	}
}

// incoming is what is seen here of what is done in the store.
func incoming() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-remote-edit": func(s *scene) {
			s.m.Put(s.memory("a"), "old text")
			s.m.Sync()
			fd := s.open("a", unix.O_RDONLY)
			before := s.stat("a")
			s.m.Put(s.memory("a"), "another text, longer than before")
			s.m.Sync()
			assert.Equal(s, "another text, longer than before", s.read("a"))
			assert.Equal(s, "old text", s.fd(fd))
			assert.Less(s, mtime(before), mtime(s.stat("a")))
			var stat unix.Stat_t
			require.NoError(s, unix.Fstat(fd, &stat))
			assert.Equal(s, before.Size, stat.Size, "no attribute of the old file changes")
			assert.Equal(s, mtime(before), mtime(stat))
		},
		"S-remote-names": func(s *scene) {
			_, err := os.Stat(s.at("a"))
			s.fails(unix.ENOENT, err)
			made := s.m.Put(s.memory("a"), "text")
			s.m.Sync()
			assert.Equal(s, "text", s.read("a"), "no stale negative entry")
			ino, to := s.stat("a").Ino, s.memory("d/b")
			_, err = s.m.Remote.Update(s.Context(), made.ID, store.Update{Path: &to, Expect: made.SHA})
			require.NoError(s, err)
			s.m.Sync()
			assert.NoFileExists(s, s.at("a"))
			assert.Equal(s, ino, s.stat("d/b").Ino, "a move keeps the inode")
			assert.Equal(s, []string{"d"}, s.list(""))
		},
		"S-conflict": func(s *scene) {
			s.m.Put(s.memory("a"), "base")
			s.m.Sync()
			s.write("a", "mine")
			s.m.Put(s.memory("a"), "theirs")
			assert.Equal(s, 1, s.m.Sync().Conflicts)
			assert.Equal(s, "theirs", s.read("a"), "the store wins (R7)")
			assert.Equal(s, "theirs", string(s.stored("a").Content))
			assert.Contains(s, s.m.Losers()[s.memory("a")], "mine", "and the text is kept")
		},
		"S-stray": func(s *scene) {
			s.m.Put(s.memory("a"), "base")
			s.m.Sync()
			fd := s.open("a", unix.O_RDWR)
			s.m.Put(s.memory("a"), "theirs")
			s.m.Sync()
			_, err := unix.Pwrite(fd, []byte("late"), 0)
			require.NoError(s, err)
			s.m.Sync()
			assert.Equal(s, "theirs", s.read("a"))
			assert.Contains(s, s.m.Losers()[s.memory("a")], "late")
		},
		"S-rename-and-edit": func(s *scene) {
			s.m.Put(s.memory("a"), "base")
			s.m.Sync()
			require.NoError(s, os.Rename(s.at("a"), s.at("b")))
			s.m.Put(s.memory("a"), "edited there")
			assert.Zero(s, s.m.Sync().Conflicts)
			s.m.Sync()
			assert.Equal(s, "edited there", s.read("b"))
			assert.Equal(s, "edited there", string(s.stored("b").Content))
			s.absent("a")
		},
		"S-remote-delete": func(s *scene) {
			for _, name := range []string{"clean", "edited", "renamed"} {
				s.m.Put(s.memory(name), "text")
			}
			s.m.Sync()
			s.write("edited", "changed here")
			require.NoError(s, os.Rename(s.at("renamed"), s.at("renamed here")))
			for _, name := range []string{"clean", "edited", "renamed"} {
				s.m.Delete(s.memory(name))
			}
			s.m.Sync()
			assert.ElementsMatch(s, []string{"edited", "renamed here"}, s.list(""))
			assert.Equal(s, "changed here", string(s.stored("edited").Content), "made anew (R9)")
			assert.Equal(s, "text", string(s.stored("renamed here").Content))
		},
	}
}

func special() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-read-only": func(s *scene) {
			s = s.own(mounttest.Options{ReadOnly: true, Files: map[string]string{"/a": "text"}})
			s.write("a", "changed here")
			s.write("b", "made here")
			s.m.Sync()
			assert.Equal(s, map[string]string{"/a": "text"}, s.m.Texts())
			assert.Equal(s, "changed here", s.read("a"))
			s.m.Put("/a", "changed there")
			s.m.Sync()
			assert.Equal(s, "changed there", s.read("a"))
			assert.Equal(s, "made here", s.read("b"))
		},
		"S-strict": func(s *scene) {
			s = s.own(mounttest.Options{ReadOnly: true, Strict: true, Files: map[string]string{"/a": "text"}})
			_, err := os.Create(s.at("b"))
			s.fails(unix.EROFS, err)
			s.fails(unix.EROFS, os.Truncate(s.at("a"), 0))
			s.fails(unix.EROFS, os.Remove(s.at("a")))
			s.fails(unix.EROFS, os.Chmod(s.at("a"), 0o777))
			assert.Equal(s, "text", s.read("a"))
			s.m.Put("/a", "changed there")
			s.m.Sync()
			assert.Equal(s, "changed there", s.read("a"))
		},
		"S-marker": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/a": "text"}})
			right := s.read(store.MarkerName)
			assert.Equal(s, "version 1\n"+s.m.StoreID, right)
			require.NoError(s, os.Remove(s.at(store.MarkerName)))
			s.write("b", "made here")
			s.m.Put("/c", "made there")
			assert.True(s, s.m.Sync().MarkerBad)
			assert.Equal(s, map[string]string{"/a": "text", "/c": "made there"}, s.m.Texts())
			assert.NoFileExists(s, s.at("c"))
			s.write(store.MarkerName, right)
			s.m.Sync()
			assert.Equal(s, "made there", s.read("c"))
			assert.Equal(s, "made here", string(s.stored("b").Content))
			for path := range s.m.Memories() {
				assert.NotContains(s, path, store.MarkerName)
			}
		},
	}
}
