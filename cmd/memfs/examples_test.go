package main_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"memfs/cmd/memfs/internal/exitcode"
)

// TestExamplesUseFlagsThatThereAre runs every command line of the examples,
// asking for help instead.
func TestExamplesUseFlagsThatThereAre(t *testing.T) {
	h := newHost(t)
	lines := exampleCommands(t)
	require.GreaterOrEqual(t, len(lines), 5)
	for _, line := range lines {
		r := h.run(append(line, "--help")...)
		assert.Equal(t, exitcode.OK, r.code, "memfs %s: %s", strings.Join(line, " "), r.stderr)
		assert.Contains(t, r.stdout, "memfs "+line[0])
	}
}

// exampleCommands are the arguments that the examples give to memfs.
func exampleCommands(t *testing.T) [][]string {
	t.Helper()
	var lines [][]string
	examples := "../../docs/examples"
	for _, file := range glob(t, examples+"/systemd/*.service") {
		for _, m := range regexp.MustCompile(`(?m)^ExecStart=\S+/memfs (.*)$`).FindAllStringSubmatch(read(t, file), -1) {
			lines = append(lines, strings.Fields(m[1]))
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^CMD \[(.*)\]$`).FindAllStringSubmatch(read(t, examples+"/docker/Dockerfile"), -1) {
		lines = append(lines, strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", "))
	}
	for _, file := range append(glob(t, examples+"/kubernetes/*.yaml"), glob(t, examples+"/docker/*.yaml")...) {
		for documents := yaml.NewDecoder(bytes.NewReader([]byte(read(t, file)))); ; {
			var document any
			err := documents.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
			lines = append(lines, memfsIn(document)...)
		}
	}
	return lines
}

// memfsIn finds the command lines in a manifest: the args of memfs's containers
// and probes.
func memfsIn(node any) (lines [][]string) {
	switch node := node.(type) {
	case map[string]any:
		if args := words(node["args"]); node["image"] == "memfs:latest" && args != nil {
			lines = append(lines, args)
		}
		if command := words(node["command"]); len(command) > 1 && command[0] == "memfs" {
			lines = append(lines, command[1:])
		}
		for _, below := range node {
			lines = append(lines, memfsIn(below)...)
		}
	case []any:
		for _, below := range node {
			lines = append(lines, memfsIn(below)...)
		}
	}
	return lines
}

func words(node any) (all []string) {
	list, _ := node.([]any)
	for _, x := range list {
		word, _ := x.(string)
		all = append(all, word)
	}
	return all
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func TestUnitsAreWhatSystemdTakes(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	units := []string{}
	for _, file := range glob(t, "../../docs/examples/systemd/*.service") {
		name := filepath.Base(file)
		text := strings.ReplaceAll(read(t, file), "/usr/local/bin/memfs", program)
		write(t, filepath.Join(dir, name), text)
		units = append(units, filepath.Join(dir, strings.Replace(name, "@.", "@notes.", 1)))
		write(t, units[len(units)-1], text)
		for _, promise := range []string{"Type=notify", "StateDirectoryMode=0700", "KillMode=mixed", "RuntimeDirectory=memfs"} {
			assert.Contains(t, text, "\n"+promise+"\n")
		}
	}
	said, err := exec.CommandContext(t.Context(), verify, append([]string{"verify"}, units...)...).CombinedOutput()
	require.NoError(t, err, string(said))
	assert.Empty(t, string(said))
}
