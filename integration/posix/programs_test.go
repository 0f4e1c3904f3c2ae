//go:build linux

package posix

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// program is a program that works in a directory of a mount, and what the
// store has after it.
type program struct {
	name string
	// needs are the commands without which the test is skipped.
	needs []string
	// files are there before, also in the store.
	files map[string]string
	// script is run by sh in the directory; $OUT is a directory on the disk.
	script string
	// keys are typed where the program wants a terminal, once it shows the
	// text shows.
	shows, keys string
	// want are the texts in the store after it; those that were there before
	// are the same memories with one version more, or none if the text is the
	// same.
	want map[string]string
	// says is in what it prints.
	says []string
	// state are the states of files that the store does not have.
	state map[string]string
}

// TestPrograms runs programs that agents and people use.
func TestPrograms(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{AllowMassDelete: true})
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) { p.run(t, m) })
	}
}

func (p program) run(t *testing.T, m *mounttest.Mount) {
	for _, command := range append(p.needs, "sh") {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("%s is not installed; .ci/run installs it", command)
		}
	}
	dir := m.At(p.name)
	for path, text := range p.files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	m.Sync()
	before := p.stored(m)
	require.Len(t, before, len(p.files))
	versions := map[string]int{}
	for path, memory := range before {
		versions[path] = countVersions(t, m, memory.ID)
	}

	said := p.work(t, dir)
	for _, text := range p.says {
		assert.Contains(t, said, text)
	}
	report := m.Sync()
	assert.Zero(t, report.Conflicts)
	after, texts := p.stored(m), map[string]string{}
	for path, memory := range after {
		texts[path] = string(memory.Content)
	}
	assert.Equal(t, p.want, texts, "what the store has; it said %s", said)
	for path, old := range before {
		now, ok := after[path]
		if !ok {
			continue
		}
		assert.Equal(t, old.ID, now.ID, "%s is another memory", path)
		more := 0
		if p.files[path] != p.want[path] {
			more = 1
		}
		assert.Equal(t, versions[path]+more, countVersions(t, m, old.ID), "versions of %s", path)
	}
	for path, state := range p.state {
		assert.Equal(t, state, attribute(t, filepath.Join(dir, path), "state"), path)
	}
}

// stored are the memories below the program's directory.
func (p program) stored(m *mounttest.Mount) map[string]store.Memory {
	mine := map[string]store.Memory{}
	for path, memory := range m.Memories() {
		if name, ok := strings.CutPrefix(path, "/"+p.name+"/"); ok {
			mine[name] = memory
		}
	}
	return mine
}

// work runs the script and returns what it prints.
func (p program) work(t *testing.T, dir string) string {
	command := exec.CommandContext(t.Context(), "sh", "-euc", p.script)
	command.Dir = dir
	out := t.TempDir()
	command.Env = append(os.Environ(), "OUT="+out, "HOME="+out, "TERM=xterm", "LC_ALL=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if p.keys != "" {
		return typeKeys(t, command, p.shows, p.keys)
	}
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return string(said)
}

func countVersions(t *testing.T, m *mounttest.Mount, id string) int {
	page, err := m.Remote.Versions(t.Context(), store.VersionQuery{MemoryID: id})
	require.NoError(t, err)
	return len(page.Versions)
}

// attribute reads a file's user.memfs attribute.
func attribute(t *testing.T, path, name string) string {
	t.Helper()
	text := make([]byte, 1<<16)
	n, err := unix.Getxattr(path, "user.memfs."+name, text)
	require.NoError(t, err, path)
	return string(text[:n])
}
