package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

// TestHelpEnvironmentListsEveryVariable reads the sources, so that none is
// forgotten.
func TestHelpEnvironmentListsEveryVariable(t *testing.T) {
	said := newHost(t).must("help", "environment")
	name := regexp.MustCompile(`"((?:ANTHROPIC|MEMFS|XDG)_[A-Z_]*[A-Z]|[A-Z]+_DIRECTORY|NOTIFY_SOCKET|NO_COLOR)"`)
	found := map[string]bool{}
	for _, file := range sources(t, ".") {
		if strings.HasPrefix(file.name, "internal/worker/toolbox/") {
			continue // it names what tools do not get
		}
		for _, m := range name.FindAllStringSubmatch(file.text, -1) {
			found[m[1]] = true
		}
	}
	require.Contains(t, found, "ANTHROPIC_ENVIRONMENT_KEY")
	for variable := range found {
		assert.Regexp(t, `(?m)^  `+variable+` +\S`, said)
	}
	for _, variable := range []string{"MEMFS_SYNC_INTERVAL", "MEMFS_LOCAL", "MEMFS_METRICS_ADDR"} {
		assert.Regexp(t, `(?m)^  `+variable+` +\S`, said, "a flag's")
	}
	assert.Regexp(t, `(?m)^  MEMFS_ALL +discard every.*\(conflicts drop\)\n +end every memfs process.*\(unmount\)$`, said, "what each command means by it")
	assert.Regexp(t, `(?m)^  MEMFS_ROOT .*\((doctor, exec, mount)\)\n .*\(worker poll, worker run\)$`, said)
	assert.Regexp(t, `(?m)^  MEMFS_SYNC_INTERVAL .*\(exec, mount, .*worker poll`, said, "and whose")
}

type source struct{ name, text string }

// sources are the files of a tree that the program is made from.
func sources(t *testing.T, root string) []source {
	t.Helper()
	var all []source
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, source{path, string(text)})
		return err
	}))
	return all
}

func TestExitCodesAreDocumented(t *testing.T) {
	var declared, listed []int
	text, err := os.ReadFile("internal/exitcode/exitcode.go")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\t[A-Z]\w+ = (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		declared = append(declared, n)
	}
	for _, c := range exitcode.Codes() {
		listed = append(listed, c.Code)
	}
	assert.Equal(t, declared, listed)

	manual, err := os.ReadFile("../../docs/OPERATIONS.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(manual), "\n## Exit codes\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	said := newHost(t).must("help", "exit-codes")
	for _, n := range listed {
		code := strconv.Itoa(n)
		assert.Regexp(t, `(?m)^\| `+code+` \| \S`, section)
		assert.Regexp(t, `(?m)^  `+code+` +\S`, said)
	}
}

// TestEveryCommandHasHelp looks at what a person sees who tries one out.
func TestEveryCommandHasHelp(t *testing.T) {
	h := newHost(t)
	var visit func(path []string)
	visit = func(path []string) {
		said := h.must(append(slices.Clone(path), "--help")...)
		assert.NotContains(t, said, "MISSING", path)
		if !strings.Contains(said, "Available Commands:") {
			if plain := []string{"completion", "environment", "exit-codes", "help", "version"}; !slices.Contains(plain, path[0]) {
				assert.Contains(t, said, "Examples:", "memfs %s --help", strings.Join(path, " "))
			}
			return
		}
		_, list, _ := strings.Cut(said, "Available Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			visit(append(slices.Clone(path), strings.Fields(line)[0]))
		}
	}
	visit(nil)
}

func TestCompletion(t *testing.T) {
	h := mounting(t)
	id := h.store("My Notes")
	for _, args := range [][]string{{"mount"}, {"exec"}, {"store", "export"}, {"store", "import", "dir"}} {
		said := h.must(append(append([]string{"__complete"}, args...), "")...)
		assert.Contains(t, said, "My Notes\t"+id+"\n", args)
	}
	assert.NotContains(t, h.must("__complete", "exec", "My Notes", "--", ""), id)
	h.must("mount", "My Notes:"+h.path("mnt"), "--daemon")
	for _, command := range []string{"status", "sync", "unmount"} {
		assert.Contains(t, h.must("__complete", command, ""), h.path("mnt")+"\t"+id+"\n")
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		assert.Contains(t, h.must("completion", shell), "memfs")
	}
}
