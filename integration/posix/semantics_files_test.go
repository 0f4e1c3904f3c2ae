//go:build linux

package posix

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// promises are about what survives.
func promises() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-kill-content": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/old": "old text"}})
			s.write("new", "written")
			fd := s.open("old", unix.O_RDWR)
			_, err := unix.Pwrite(fd, []byte("NEW"), 0)
			require.NoError(s, err)
			require.NoError(s, unix.Ftruncate(fd, 5))
			s.m.Kill()
			s.m.Restart()
			assert.Equal(s, "written", s.read("new"))
			assert.Equal(s, "NEW t", s.read("old"))
		},
		"S-kill-names": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/a": "a", "/b": "b", "/d/c": "c"}})
			require.NoError(s, os.Rename(s.at("a"), s.at("moved")))
			require.NoError(s, os.Remove(s.at("b")))
			require.NoError(s, os.Mkdir(s.at("empty"), 0o750))
			require.NoError(s, os.Chmod(s.at("moved"), 0o640))
			s.write("made", "")
			s.m.Kill()
			s.m.Restart()
			assert.ElementsMatch(s, []string{store.MarkerName, "moved", "d", "empty", "made"}, s.list(""))
			assert.EqualValues(s, unix.S_IFREG|0o640, s.stat("moved").Mode)
			s.m.Sync()
			assert.Equal(s, map[string]string{"/moved": "a", "/d/c": "c", "/made": ""}, s.m.Texts())
		},
		"S-kill-mmap": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/a": "old text"}})
			fd := s.open("a", unix.O_RDWR)
			memory, err := unix.Mmap(fd, 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			require.NoError(s, err)
			copy(memory, "NEW")
			require.NoError(s, unix.Msync(memory, unix.MS_SYNC))
			s.m.Kill()
			require.NoError(s, unix.Munmap(memory))
			s.m.Restart()
			assert.Equal(s, "NEW text", s.read("a"))
		},
		"S-kill-emptied": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/a": "old text", "/b": "old text"}})
			require.NoError(s, os.Truncate(s.at("a"), 0))
			require.NoError(s, os.Truncate(s.at("b"), 0))
			require.NoError(s, unix.Fsync(s.open("b", unix.O_WRONLY)))
			s.m.Kill()
			s.m.Restart()
			assert.Equal(s, "old text", s.read("a"), "a save cut off (R16)")
			assert.Empty(s, s.read("b"), "synced: meant to be empty")
		},
		"S-sync": func(s *scene) {
			s.write("a", "text")
			s.absent("a")
			s.m.Sync()
			assert.Equal(s, "text", string(s.stored("a").Content))
			s.m.Put(s.memory("a"), "from the store")
			s.m.Put(s.memory("b"), "from the store")
			s.m.Sync()
			assert.Equal(s, "from the store", s.read("a"), "at once: the kernel was told before sync returned")
			assert.Equal(s, "from the store", s.read("b"))
		},
	}
}

func opening() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-O_CREAT": func(s *scene) {
			s.write("a", "text")
			assert.Equal(s, "text", s.fd(s.open("a", unix.O_CREAT|unix.O_RDWR)), "what is there stays")
			_, err := unix.Open(s.at("none"), unix.O_RDWR, 0)
			s.fails(unix.ENOENT, err)
			s.open("none", unix.O_CREAT|unix.O_WRONLY)
			assert.EqualValues(s, 0o644, s.stat("none").Mode&0o777)
		},
		"S-O_EXCL": func(s *scene) {
			// Of many processes one makes the lock file.
			script := `for i in 1 2 3 4 5 6 7 8; do (set -C; : > lock) 2>/dev/null && echo won & done; wait`
			assert.Equal(s, "won\n", s.shell(script))
			_, err := unix.Open(s.at("lock"), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o644)
			s.fails(unix.EEXIST, err)
		},
		"S-O_TRUNC": func(s *scene) {
			s.write("a", "a longer text")
			open := s.open("a", unix.O_RDWR)
			fd := s.open("a", unix.O_WRONLY|unix.O_TRUNC)
			assert.Zero(s, s.stat("a").Size)
			_, err := unix.Write(fd, []byte("new"))
			require.NoError(s, err)
			assert.Equal(s, "new", s.read("a"))
			assert.Equal(s, "new", s.fd(open))
		},
		"S-O_APPEND": func(s *scene) {
			// Lines of several processes, each appended by a write of its own.
			var writers sync.WaitGroup
			for writer := range 4 {
				writers.Go(func() {
					script := fmt.Sprintf(`i=0; while [ $i -lt 150 ]; do echo "writer %d line $i" >> "$1"; i=$((i+1)); done`, writer)
					said, err := exec.CommandContext(s.Context(), "sh", "-ec", script, "sh", s.at("log")).CombinedOutput()
					assert.NoError(s, err, "%s", said)
				})
			}
			writers.Wait()
			lines := strings.Split(strings.TrimSuffix(s.read("log"), "\n"), "\n")
			next := map[int]int{}
			for _, line := range lines {
				var writer, i int
				_, err := fmt.Sscanf(line, "writer %d line %d", &writer, &i)
				require.NoError(s, err, line)
				assert.Equal(s, next[writer], i, "of writer %d", writer)
				next[writer]++
			}
			assert.Len(s, lines, 600)
		},
		"S-O_TMPFILE": func(s *scene) {
			_, err := unix.Open(s.at(""), unix.O_TMPFILE|unix.O_RDWR, 0o600)
			s.fails(unix.EOPNOTSUPP, err)
		},
		"S-O_DIRECT": func(s *scene) {
			fd := s.open("a", unix.O_CREAT|unix.O_RDWR|unix.O_DIRECT)
			_, err := unix.Pwrite(fd, []byte("unaligned"), 0)
			require.NoError(s, err)
			assert.Equal(s, "unaligned", s.fd(fd))
			assert.Equal(s, "unaligned", s.read("a"))
		},
	}
}

func contents() map[string]func(*scene) {
	return map[string]func(*scene){
		"S-read": func(s *scene) {
			s = s.own(mounttest.Options{Files: map[string]string{"/a": "from the store"}, NoHydrate: true})
			assert.Equal(s, "remote", attribute(s.T, s.at("a"), "state"))
			fd := s.open("a", unix.O_RDONLY)
			text := make([]byte, 5)
			n, err := unix.Pread(fd, text, 9)
			require.NoError(s, err)
			assert.Equal(s, "store", string(text[:n]))
			n, err = unix.Pread(fd, text, 100)
			require.NoError(s, err)
			assert.Zero(s, n, "behind the end")
			assert.Equal(s, "clean", attribute(s.T, s.at("a"), "state"))
		},
		"S-write-limit": func(s *scene) {
			fd := s.open("a", unix.O_CREAT|unix.O_RDWR)
			n, err := unix.Pwrite(fd, make([]byte, store.MaxContent+10), 0)
			require.NoError(s, err)
			assert.Equal(s, store.MaxContent, n, "what fits")
			_, err = unix.Pwrite(fd, []byte("x"), store.MaxContent)
			s.fails(unix.EFBIG, err)
			s.m.Sync()
			s.absent("a")
			assert.Equal(s, "held", attribute(s.T, s.at("a"), "state"), "half a save is not sent (R4)")
			s.write("a", "saved again")
			s.m.Sync()
			assert.Equal(s, "saved again", string(s.stored("a").Content))
		},
		"S-write-sparse": func(s *scene) {
			fd := s.open("a", unix.O_CREAT|unix.O_RDWR)
			_, err := unix.Pwrite(fd, []byte("end"), 70_000)
			require.NoError(s, err)
			assert.Equal(s, strings.Repeat("\x00", 70_000)+"end", s.read("a"))
			s.m.Sync()
			assert.EqualValues(s, 70_003, s.stored("a").Size)
		},
		"S-truncate": func(s *scene) {
			s.write("a", strings.Repeat("x", 5000))
			require.NoError(s, os.Truncate(s.at("a"), 100))
			require.NoError(s, os.Truncate(s.at("a"), 9000))
			assert.Equal(s, strings.Repeat("x", 100)+strings.Repeat("\x00", 8900), s.read("a"), "what was cut does not come back")
			s.fails(unix.EFBIG, os.Truncate(s.at("a"), store.MaxContent+1))
			assert.EqualValues(s, 9000, s.stat("a").Size)
		},
		"S-unlink-open": func(s *scene) {
			s.write("a", "text")
			fd := s.open("a", unix.O_RDWR)
			require.NoError(s, os.Remove(s.at("a")))
			assert.Empty(s, s.list(""), "no .fuse_hidden name")
			_, err := unix.Pwrite(fd, []byte("TEXT and more"), 0)
			require.NoError(s, err)
			assert.Equal(s, "TEXT and more", s.fd(fd))
			var stat unix.Stat_t
			require.NoError(s, unix.Fstat(fd, &stat))
			assert.Zero(s, stat.Nlink)
			s.m.Sync()
			s.absent("a")
			assert.Equal(s, "TEXT and more", s.fd(fd), "a pass is not noticed")
		},
		"S-rename-then-write": func(s *scene) {
			s.write("a", "text")
			fd := s.open("a", unix.O_RDWR)
			require.NoError(s, os.Rename(s.at("a"), s.at("b")))
			_, err := unix.Pwrite(fd, []byte("TEXT"), 0)
			require.NoError(s, err)
			assert.Equal(s, "TEXT", s.read("b"))
			assert.NoFileExists(s, s.at("a"))
		},
		"S-copy_file_range": func(s *scene) {
			s.write("a", "0123456789")
			from, to := s.open("a", unix.O_RDONLY), s.open("b", unix.O_CREAT|unix.O_RDWR)
			in := int64(2)
			n, err := unix.CopyFileRange(from, &in, to, nil, 5, 0)
			require.NoError(s, err)
			assert.Equal(s, 5, n)
			assert.Equal(s, "23456", s.read("b"))
			assert.Equal(s, "0123456789", s.shell("cp --reflink=auto a c; cat c"))
		},
		"S-lseek": func(s *scene) {
			s.write("a", "0123456789")
			fd := s.open("a", unix.O_RDONLY)
			at, err := unix.Seek(fd, 3, unix.SEEK_DATA)
			require.NoError(s, err)
			assert.EqualValues(s, 3, at)
			at, err = unix.Seek(fd, 3, unix.SEEK_HOLE)
			require.NoError(s, err)
			assert.EqualValues(s, 10, at, "no holes but behind the end")
			_, err = unix.Seek(fd, 10, unix.SEEK_DATA)
			s.fails(unix.ENXIO, err)
		},
		"S-fsync": func(s *scene) {
			require.NoError(s, unix.Fsync(s.open("a", unix.O_CREAT|unix.O_WRONLY)))
			require.NoError(s, unix.Fdatasync(s.open("a", unix.O_WRONLY)))
			require.NoError(s, unix.Fsync(s.open("", unix.O_RDONLY|unix.O_DIRECTORY)))
			_, err := unix.Write(s.open("b", unix.O_CREAT|unix.O_WRONLY|unix.O_SYNC), []byte("text"))
			require.NoError(s, err)
		},
	}
}

func mappings() map[string]func(*scene) {
	text := strings.Repeat("0123456789", 1000)
	return map[string]func(*scene){
		"S-mmap-shared": func(s *scene) {
			s.write("a", text)
			fd := s.open("a", unix.O_RDWR)
			one, err := unix.Mmap(fd, 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			require.NoError(s, err)
			two, err := unix.Mmap(fd, 0, len(text), unix.PROT_READ, unix.MAP_SHARED)
			require.NoError(s, err)
			copy(one[5000:], "MAPPED")
			assert.Equal(s, "MAPPED", string(two[5000:5006]))
			assert.Equal(s, "MAPPED", s.read("a")[5000:5006], "read sees it at once")
			_, err = unix.Pwrite(fd, []byte("WRITTEN"), 0)
			require.NoError(s, err)
			assert.Equal(s, "WRITTEN", string(one[:7]))
			require.NoError(s, unix.Munmap(one))
			require.NoError(s, unix.Munmap(two))
			s.m.Sync()
			assert.Equal(s, "WRITTEN"+text[7:5000]+"MAPPED"+text[5006:], string(s.stored("a").Content))
		},
		"S-mmap-private": func(s *scene) {
			s.write("a", text)
			memory, err := unix.Mmap(s.open("a", unix.O_RDONLY), 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
			require.NoError(s, err)
			copy(memory, "PRIVATE")
			require.NoError(s, unix.Munmap(memory))
			assert.Equal(s, text, s.read("a"))
		},
	}
}
