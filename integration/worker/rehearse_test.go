package worker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

const rehearsed = `
stores:
  - name: My Notes
    memories: {/todo.md: "buy milk\n", /old.md: "old\n", /gone.md: "gone\n"}
  - name: handbook
    read_only: true
    memories: {/rule.md: "be kind\n"}
calls:
  - bash: cat /mnt/memory/my-notes/todo.md
  - tool: edit
    input: {file_path: /mnt/memory/my-notes/todo.md, old_string: milk, new_string: bread}
  - tool: write
    input: {file_path: /mnt/memory/handbook/rule.md, content: be rude}
  - bash: cd /mnt/memory/my-notes && mv old.md kept.md && rm gone.md && echo new > new.md
`

func (h *host) rehearse(script string, args ...string) (int, string) {
	h.t.Helper()
	c := h.command(append([]string{"rehearse", "-"}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "TMPDIR=" + h.dir, "GORACE=atexit_sleep_ms=0"}
	c.Stdin = strings.NewReader(script)
	return exitCode(c)
}

// A rehearsal needs no server, key or privilege, and leaves nothing.
func TestRehearse(t *testing.T) {
	h := newHost(t, local.Options{})
	for _, flags := range [][]string{nil, {"--", "--isolate", "--tools-user=nobody"}} {
		code, out := h.rehearse(rehearsed, flags...)
		assert.Equal(t, 0, code, out)
		for _, line := range []string{
			"1. bash cat /mnt/memory/my-notes/todo.md\n   | buy milk\n",
			"3. write /mnt/memory/handbook/rule.md\n   | error: write: /mnt/memory/handbook/rule.md is inside read-only directory /mnt/memory/handbook\n",
			"store \"My Notes\": 3 memories\n", "   renamed /old.md -> /kept.md (4 bytes, same id)\n", "   updated /todo.md (10 bytes)\n",
			"   created /new.md (4 bytes)\n", "   deleted /gone.md\n", "store \"handbook\": 1 memory\n   unchanged\n",
		} {
			assert.Contains(t, out, line)
		}
	}
	left, err := os.ReadDir(h.dir)
	require.NoError(t, err)
	for _, entry := range left {
		assert.NotContains(t, entry.Name(), "rehearsal")
	}
}

// The demo prints what the README shows, as root and as an ordinary user.
func TestDemo(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(readme), "$ make -s demo\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	script, err := os.ReadFile("../demo.yaml")
	require.NoError(t, err)
	for name, command := range map[string]func(*host, ...string) *exec.Cmd{"as it is": (*host).command, "nobody": (*host).asNobody} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, local.Options{})
			if name == "nobody" {
				h.ownedByNobody()
			}
			c := command(h, "rehearse", "-", "--log-level", "error")
			c.Stdin = strings.NewReader(string(script))
			c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "TMPDIR=" + h.dir, "GORACE=atexit_sleep_ms=0"}
			code, out := exitCode(c)
			assert.Equal(t, 0, code, out)
			assert.Equal(t, shown, out)
		})
	}
}

func TestRehearseForMachines(t *testing.T) {
	h := newHost(t, local.Options{})
	code, out := h.rehearse(rehearsed, "--json", "--log-level=error")
	require.Equal(t, 0, code, out)
	var report struct {
		Calls []struct {
			Tool, Answer string
			Error        bool
		}
		Stores []struct {
			Name    string
			Changes []struct{ What, Path, From string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &report))
	require.Len(t, report.Calls, 4)
	assert.True(t, report.Calls[2].Error)
	assert.Len(t, report.Stores[0].Changes, 4)
}

// The stores of a directory are kept from one rehearsal to the next.
func TestRehearseOnKeptStores(t *testing.T) {
	h := newHost(t, local.Options{})
	for _, want := range []string{"one", "one\n   | one"} {
		code, out := h.rehearse("stores: [{name: notes}]\ncalls: [{bash: cd /mnt/memory/notes; echo one >> a.md; cat a.md}]", "--local="+h.path("kept"))
		assert.Equal(t, 0, code, out)
		assert.Contains(t, out, "   | "+want+"\nstore")
	}
}

func TestRehearseFails(t *testing.T) {
	h := newHost(t, local.Options{})
	for script, c := range map[string]struct {
		code int
		says string
	}{
		"stores: [{name: x, memory: {}}]": {2, "not a script to rehearse"},
		"calls: [{}]":                     {2, "one of tool (with input) and bash"},
		"end: sometime":                   {2, "end is"},
		"stores: [{name: One}, {name: one}]\ncalls: [{bash: echo 'not run'}]": {1, "let go before every call was answered"},
	} {
		code, out := h.rehearse(script)
		assert.Equal(t, c.code, code, out)
		assert.Contains(t, out, c.says)
	}
}
