//go:build linux

package posix

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// TestSemantics has one test for each id in docs/SEMANTICS.md.
func TestSemantics(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{AllowOther: os.Getuid() == 0, AllowMassDelete: true})
	tests := semantics()
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		t.Run(id, func(t *testing.T) {
			s := &scene{T: t, m: m, dir: id}
			require.NoError(t, os.Mkdir(s.at(""), 0o755))
			tests[id](s)
		})
	}
}

// semantics are the tests by id.
func semantics() map[string]func(*scene) {
	all := map[string]func(*scene){}
	for _, part := range []map[string]func(*scene){
		promises(), opening(), contents(), mappings(), unsupported(), locks(), metadata(), naming(), renames(), directories(), sizes(), outgoing(), incoming(), special(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// scene is a directory of a mount that one test has for itself.
type scene struct {
	*testing.T
	m   *mounttest.Mount
	dir string
}

// own gives the scene a mount of its own.
func (s *scene) own(o mounttest.Options) *scene {
	return &scene{T: s.T, m: mounttest.Start(s.T, o)}
}

func (s *scene) at(name string) string { return filepath.Join(s.m.Path, s.dir, name) }

// memory is a file's path in the store.
func (s *scene) memory(name string) string { return filepath.Join("/", s.dir, name) }

func (s *scene) write(name, text string) {
	s.Helper()
	require.NoError(s, os.WriteFile(s.at(name), []byte(text), 0o644))
}

func (s *scene) mkdir(name string) {
	s.Helper()
	require.NoError(s, os.MkdirAll(s.at(name), 0o755))
}

func (s *scene) read(name string) string {
	s.Helper()
	text, err := os.ReadFile(s.at(name))
	require.NoError(s, err)
	return string(text)
}

func (s *scene) stat(name string) unix.Stat_t {
	s.Helper()
	var stat unix.Stat_t
	require.NoError(s, unix.Lstat(s.at(name), &stat))
	return stat
}

// open opens a file until the end of the test.
func (s *scene) open(name string, flags int) int {
	s.Helper()
	fd, err := unix.Open(s.at(name), flags|unix.O_CLOEXEC, 0o644)
	require.NoError(s, err)
	s.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// fd reads all that an open file has.
func (s *scene) fd(fd int) string {
	s.Helper()
	text := make([]byte, 1<<18)
	n, err := unix.Pread(fd, text, 0)
	require.NoError(s, err)
	return string(text[:n])
}

// fails wants an errno of a call by name.
func (s *scene) fails(errno error, got error) {
	s.Helper()
	require.ErrorIs(s, got, errno)
}

// shell runs a script in the scene's directory, as another process.
func (s *scene) shell(script string) string {
	s.Helper()
	command := exec.CommandContext(s.Context(), "sh", "-ec", script)
	command.Dir = s.at("")
	said, err := command.CombinedOutput()
	require.NoError(s, err, "%s", said)
	return string(said)
}

// stored is the memory of a file; the store must have it.
func (s *scene) stored(name string) store.Memory {
	s.Helper()
	all := s.m.Memories()
	require.Contains(s, all, s.memory(name))
	return all[s.memory(name)]
}

// absent wants the store to have no memory at a path.
func (s *scene) absent(name string) {
	s.Helper()
	require.NotContains(s, s.m.Memories(), s.memory(name))
}

func mtime(stat unix.Stat_t) int64 { return stat.Mtim.Nano() }

func ctime(stat unix.Stat_t) int64 { return stat.Ctim.Nano() }

// list names what a directory holds.
func (s *scene) list(name string) []string {
	s.Helper()
	entries, err := os.ReadDir(s.at(name))
	require.NoError(s, err)
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}
