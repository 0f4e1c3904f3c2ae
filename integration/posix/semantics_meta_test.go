//go:build linux

package posix

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
	"memfs/store/replica"
)

// unsupported is what a mount refuses.
func unsupported() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-links": func(s *scene) {
			s.write("a", "text")
			s.fails(unix.EPERM, unix.Link(s.at("a"), s.at("b")))
			s.fails(unix.EPERM, unix.Symlink("a", s.at("b")))
			assert.Equal(s, []string{"a"}, s.list(""))
		},
		"S-mknod": func(s *scene) {
			for _, kind := range []uint32{unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR, unix.S_IFBLK} {
				s.fails(unix.EPERM, unix.Mknod(s.at("special"), kind|0o600, 0))
			}
			require.NoError(s, unix.Mknod(s.at("file"), unix.S_IFREG|0o640, 0))
			assert.EqualValues(s, unix.S_IFREG|0o640, s.stat("file").Mode)
		},
		"S-fallocate": func(s *scene) {
			fd := s.open("a", unix.O_CREAT|unix.O_RDWR)
			s.fails(unix.EOPNOTSUPP, unix.Fallocate(fd, 0, 0, 100))
			assert.Equal(s, "100\n", s.shell(`python3 -c 'import os; f = os.open("a", os.O_RDWR); os.posix_fallocate(f, 0, 100)'; stat -c %s a`),
				"the C library writes zeros instead")
		},
		"S-ioctl": func(s *scene) {
			_, err := unix.IoctlGetInt(s.open("a", unix.O_CREAT|unix.O_RDWR), unix.FS_IOC_GETFLAGS)
			s.fails(unix.ENOTTY, err)
		},
		"S-xattr-foreign": func(s *scene) {
			s.write("a", "text")
			for _, name := range []string{"user.comment", "security.selinux", "trusted.x"} {
				s.fails(unix.EOPNOTSUPP, unix.Setxattr(s.at("a"), name, []byte("x"), 0))
				_, err := unix.Getxattr(s.at("a"), name, nil)
				s.fails(unix.EOPNOTSUPP, err)
			}
			s.fails(unix.EOPNOTSUPP, unix.Setxattr(s.at("a"), "user.memfs.id", []byte("x"), 0))
			s.fails(unix.EOPNOTSUPP, unix.Removexattr(s.at("a"), "user.memfs.id"))
		},
	}
}

func locks() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-flock": func(s *scene) {
			fd := s.open("a", unix.O_CREAT|unix.O_RDWR)
			require.NoError(s, unix.Flock(fd, unix.LOCK_EX))
			s.fails(unix.EWOULDBLOCK, unix.Flock(s.open("a", unix.O_RDWR), unix.LOCK_EX|unix.LOCK_NB))
			assert.Error(s, exec.Command("flock", "-n", s.at("a"), "true").Run(), "another process")
			require.NoError(s, unix.Flock(fd, unix.LOCK_UN))
			assert.NoError(s, exec.Command("flock", "-n", s.at("a"), "true").Run())
		},
		"S-fcntl": func(s *scene) {
			fd := s.open("a", unix.O_CREAT|unix.O_RDWR)
			require.NoError(s, unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 10}))
			try := `import fcntl, sys
f = open("a", "r+")
def locks(start):
    try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, start); return True
    except OSError: return False
print(locks(15), locks(20))`
			assert.Equal(s, "False True\n", s.shell("python3 -c '"+try+"'"), "by range, against another process")
		},
	}
}

func metadata() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-chmod": func(s *scene) {
			// Kept across passes, and no business of the store.
			s.write("a", "text")
			s.m.Sync()
			before := s.stored("a")
			require.NoError(s, os.Chmod(s.at("a"), 0o640))
			require.NoError(s, os.Chown(s.at("a"), os.Getuid(), os.Getgid()))
			when := time.Unix(1_000_000_000, 123_456_789)
			require.NoError(s, os.Chtimes(s.at("a"), when, when))
			assert.Zero(s, s.m.Sync().Pushed)
			stat := s.stat("a")
			assert.EqualValues(s, unix.S_IFREG|0o640, stat.Mode)
			assert.Equal(s, when.UnixNano(), mtime(stat))
			assert.Equal(s, when.UnixNano(), stat.Atim.Nano())
			assert.Equal(s, before.VersionID, s.stored("a").VersionID)
			s.m.Put(s.memory("a"), "from the store")
			s.m.Sync()
			assert.EqualValues(s, unix.S_IFREG|0o640, s.stat("a").Mode, "also when the content changes remotely")
		},
		"S-mtime": func(s *scene) {
			made := s.m.Put(s.memory("a"), "from the store")
			s.m.Sync()
			first := s.stat("a")
			assert.Equal(s, made.UpdatedAt.UnixNano(), mtime(first), "the store's updated_at at first")
			s.read("a")
			s.m.Sync()
			assert.Equal(s, first, s.stat("a"), "neither a read nor a pass moves a time")

			s.write("a", "changed here")
			second := s.stat("a")
			assert.Less(s, mtime(first), mtime(second))
			s.m.Sync()
			assert.Equal(s, second, s.stat("a"), "a push moves no time and no inode")

			future := time.Now().Add(time.Hour)
			require.NoError(s, os.Chtimes(s.at("a"), future, future))
			s.m.Put(s.memory("a"), "changed there")
			s.m.Sync()
			assert.Less(s, future.UnixNano(), mtime(s.stat("a")), "newer after a remote change, whatever it was before")
		},
		"S-ctime": func(s *scene) {
			s.write("a", "text")
			before := s.stat("a")
			require.NoError(s, os.Chmod(s.at("a"), 0o600))
			after := s.stat("a")
			assert.Less(s, ctime(before), ctime(after))
			assert.Equal(s, mtime(before), mtime(after))
			require.NoError(s, os.Rename(s.at("a"), s.at("b")))
			assert.Less(s, ctime(after), ctime(s.stat("b")))
		},
		"S-mtime-directory": func(s *scene) {
			s.mkdir("d")
			past := time.Unix(1_000_000_000, 0)
			for _, change := range []struct {
				what string
				do   func() error
			}{
				{"create", func() error { return os.WriteFile(s.at("d/a"), nil, 0o600) }},
				{"rename", func() error { return os.Rename(s.at("d/a"), s.at("d/b")) }},
				{"remove", func() error { return os.Remove(s.at("d/b")) }},
				{"mkdir", func() error { return os.Mkdir(s.at("d/e"), 0o700) }},
			} {
				require.NoError(s, os.Chtimes(s.at("d"), past, past))
				require.NoError(s, change.do())
				assert.Less(s, past.UnixNano(), mtime(s.stat("d")), change.what)
			}
			s.write("d/b", "")
			require.NoError(s, os.Chtimes(s.at("d"), past, past))
			s.write("d/b", "a write in it is none of its own")
			assert.Equal(s, past.UnixNano(), mtime(s.stat("d")))
		},
		"S-inode": func(s *scene) {
			s.write("a", "text")
			ino := s.stat("a").Ino
			s.write("a", "more text")
			require.NoError(s, os.Rename(s.at("a"), s.at("b")))
			s.m.Sync()
			assert.Equal(s, ino, s.stat("b").Ino, "it stays across writes, renames and passes")
			s.m.Put(s.memory("b"), "from the store")
			s.m.Sync()
			assert.NotEqual(s, ino, s.stat("b").Ino, "a remote change of the content gives another (R2)")
			seen := map[uint64]bool{}
			for _, name := range []string{"", "b", ".."} {
				seen[s.stat(name).Ino] = true
			}
			assert.Len(s, seen, 3)
		},
		"S-nlink": func(s *scene) {
			s.mkdir("d/e")
			s.mkdir("d/f")
			s.write("d/a", "text")
			assert.EqualValues(s, 4, s.stat("d").Nlink)
			assert.EqualValues(s, 1, s.stat("d/a").Nlink)
			require.NoError(s, os.Remove(s.at("d/e")))
			assert.EqualValues(s, 3, s.stat("d").Nlink)
		},
		"S-blocks": func(s *scene) {
			s.write("a", strings.Repeat("x", 1025))
			stat := s.stat("a")
			assert.EqualValues(s, 3, stat.Blocks)
			assert.EqualValues(s, 4096, stat.Blksize)
			assert.Equal(s, "1536\n", s.shell("du -B1 a | cut -f1"))
		},
		"S-xattr": func(s *scene) {
			s.write("a", "text")
			assert.Equal(s, "dirty", attribute(s.T, s.at("a"), "state"))
			assert.Equal(s, store.Hash([]byte("text")).String(), attribute(s.T, s.at("a"), "sha256"))
			s.m.Sync()
			memory := s.stored("a")
			assert.Equal(s, "clean", attribute(s.T, s.at("a"), "state"))
			assert.Equal(s, memory.ID, attribute(s.T, s.at("a"), "id"))
			assert.Equal(s, memory.VersionID, attribute(s.T, s.at("a"), "version"))
			_, err := time.Parse(time.RFC3339Nano, attribute(s.T, s.at("a"), "synced_at"))
			assert.NoError(s, err)
			s.write("not-text", "\xff")
			s.m.Sync()
			assert.Equal(s, "refused", attribute(s.T, s.at("not-text"), "state"))
			assert.Contains(s, attribute(s.T, s.at("not-text"), "reason"), "UTF-8")
			s.absent("not-text")
			_, err = unix.Getxattr(s.at("a"), "user.memfs.none", nil)
			s.fails(unix.ENODATA, err)
		},
		"S-xattr-root": func(s *scene) {
			assert.Equal(s, s.m.StoreID, attribute(s.T, s.m.Path, "store"))
			var status replica.Status
			require.NoError(s, json.Unmarshal([]byte(attribute(s.T, s.m.Path, "status")), &status))
			assert.Equal(s, s.m.StoreID, status.StoreID)
			assert.Equal(s, status.Memories, status.Clean+status.Remote+status.Dirty+status.Refused+status.Held, "R20")
		},
		"S-df": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/a": strings.Repeat("x", 8192)}, MaxMemories: 50})
			var use unix.Statfs_t
			require.NoError(s, unix.Statfs(s.m.Path, &use))
			assert.EqualValues(s, 50, use.Files)
			assert.EqualValues(s, 49, use.Ffree)
			assert.EqualValues(s, 50*store.MaxContent/4096, use.Blocks)
			assert.Equal(s, use.Blocks-2, use.Bfree)
			assert.EqualValues(s, 255, use.Namelen)
			s.write("b", strings.Repeat("x", 8192))
			assert.Equal(s, "48\n", s.shell("df --output=iavail . | tail -1 | tr -d ' '"))
		},
	}
}
