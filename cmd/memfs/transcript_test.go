package main_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

var update = flag.Bool("update", false, "write what commands say into testdata/transcripts")

// transcripts are sessions at a shell: lines that begin with "$ " are typed,
// what follows is seen: standard output, then standard error behind "2> ", and
// the exit code in brackets unless it is 0. The first line says what it is
// about. Other mounts of this machine are not looked at.
func transcripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[file] = string(text)
	}
	return all
}

// TestTranscripts runs them anew. -update accepts what is different.
func TestTranscripts(t *testing.T) {
	for file, want := range transcripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			h := mounting(t).with("MEMFS_SYNC_INTERVAL=1h", "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
			var got strings.Builder
			title, _, _ := strings.Cut(want, "$ ")
			got.WriteString(title)
			for line := range strings.Lines(want) {
				if typed, ok := strings.CutPrefix(line, "$ "); ok {
					got.WriteString(line + h.seen(strings.TrimSpace(typed)))
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
				return
			}
			assert.Equal(t, want, got.String())
		})
	}
}

// seen is what a shell shows of a command.
func (h *host) seen(typed string) string {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(h.t.Context(), "sh", "-c", typed)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env, h.dir, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(h.t, err)
	}
	var out strings.Builder
	out.WriteString(h.lasting(stdout.String()))
	for line := range strings.Lines(h.lasting(stderr.String())) {
		out.WriteString("2> " + line)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		fmt.Fprintf(&out, "[%d]\n", code)
	}
	return out.String()
}

// passing is what is different each time, and what stands for it. What an
// operation of a busy machine took is not there at all.
var passing = []struct{ what, as string }{
	{`(?m)^  slow +.*\n`, ``},
	{`(?s),\n +"slowest": \[.*?\n +\]`, ``},
	{`\b(memstore|memver|mem|apikey)_[0-9A-Za-z]{16,}`, `${1}_ID`},
	{`\b[0-9a-f]{64}\b`, `SHA`},
	{`\b[0-9a-f]{24}\b`, `AREA`},
	{`\b[0-9]{8}T[0-9]{6}[-.0-9a-zA-Z]*`, `CONFLICT`},
	{`\b[0-9a-f]{12}\b`, `SHA`},
	{`\b[0-9a-f]{8}\b`, `LEFTOVER`},
	{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`, `TIME`},
	{`\d{4}-\d\d-\d\d`, `DATE`},
	{`\b(pid|process)(":)? \d+`, `$1$2 N`},
	{`(?m)^(  process +)\d+`, `${1}N`},
	{`127\.0\.0\.1:\d{4,}`, `127.0.0.1:PORT`},
	{`\b(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b`, `SPAN`},
	{`\d+(\.\d+)? [KM]?i?B\b`, `SIZE`},
	{`("(?:journal_bytes|requests|scratch_bytes)": )\d+`, `${1}N`},
	{`\d+ requests?`, `N requests`},
	{`SIZE +\d+ +(-|\w+ SPAN)\n`, "SIZE  N  SLOW\n"},
	{`sk-ant-oat01-\w+`, `KEY`},
	{` {2,}`, `  `},
}

// lasting is a text without what is different each time.
func (h *host) lasting(text string) string {
	text = strings.ReplaceAll(text, h.dir, "/host")
	for _, p := range passing {
		text = regexp.MustCompile(p.what).ReplaceAllString(text, p.as)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// TestEveryCommandAndExitCodeIsInATranscript: none is forgotten.
func TestEveryCommandAndExitCodeIsInATranscript(t *testing.T) {
	all := ""
	for _, text := range transcripts(t) {
		all += "\n" + text
	}
	h := newHost(t)
	var visit func(path []string)
	visit = func(path []string) {
		said := h.must(append(slices.Clone(path), "--help")...)
		if _, list, parent := strings.Cut(said, "Available Commands:\n"); parent {
			list, _, _ = strings.Cut(list, "\n\n")
			for line := range strings.Lines(list) {
				visit(append(slices.Clone(path), strings.Fields(line)[0]))
			}
			return
		}
		command := "memfs " + strings.Join(path, " ")
		assert.Regexp(t, `(?m)^\$ (.*[ ;(])?`+command+`\b`, all, "it is never typed")
		if strings.Contains(said, "      --json ") {
			assert.Regexp(t, `(?m)^\$ (.*[ ;(])?`+command+`\b.* --json\b`, all, "its JSON is never asked for")
		}
	}
	visit(nil)
	for _, c := range exitcode.Codes() {
		if c.Code != exitcode.OK {
			assert.Regexp(t, fmt.Sprintf(`(?m)^\[%d\]$`, c.Code), all, "no command ends with it: %s", c.Meaning)
		}
	}
}
