package worker_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// memfs serve queues the sessions of script files, the same that memfs rehearse
// takes, and any worker serves them: here with the lines that serve prints as
// its environment.
func TestServeSessionsFromScripts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the mounts are in /mnt/memory, which only root can have elsewhere")
	}
	h := newHost(t, local.Options{})
	var args []string
	for i, script := range []string{
		rehearsed,
		"stores: [{name: My Notes}]\nskills: [{name: sums, files: {SKILL.md: How to add.}}]\ncalls: [{bash: cat skills/sums/SKILL.md > /mnt/memory/my-notes/skill.md}, {bash: 'false'}]",
	} {
		file := h.path(fmt.Sprint(i, ".yaml"))
		require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
		args = append(args, "--session", file)
	}
	c := h.command(append([]string{"serve", "--local", h.path("served"), "--listen", "127.0.0.1:0"}, args...)...)
	c.Env = append(c.Env, "ANTHROPIC_ENVIRONMENT_KEY=")
	r, stdout, err := os.Pipe()
	require.NoError(t, err)
	c.Stdout = stdout
	server := h.run(c)
	require.NoError(t, stdout.Close())
	environment := map[string]string{}
	for lines := bufio.NewScanner(r); len(environment) < 4 && lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		environment[name] = value
	}
	worker := h.command("worker", "poll", "--workdir", h.path("work"))
	for name, value := range environment {
		worker.Env = append(worker.Env, name+"="+value)
	}
	env, dir := worker.Env, worker.Dir
	worker = apart(`mount -t tmpfs none /mnt && exec "$0" "$@"`, worker.Args...)
	worker.Env, worker.Dir = env, dir
	w := h.run(worker)
	server.eventually("session_over", `"answers": 4, "errors": 1`)
	server.eventually("session_over", `"answers": 2, "errors": 1`)
	assert.Equal(t, 0, w.end())

	api, err := claude.New(claude.Config{BaseURL: environment["ANTHROPIC_BASE_URL"], Credential: "any"})
	require.NoError(t, err)
	defer api.Close()
	stores, err := api.Stores(t.Context())
	require.NoError(t, err)
	require.Len(t, stores, 2, "the second session has the store of the first")
	for _, info := range stores {
		if info.Name != "My Notes" {
			continue
		}
		page, err := api.Store(info.ID).List(t.Context(), store.ListQuery{Full: true})
		require.NoError(t, err)
		texts := map[string]string{}
		for _, m := range page.Memories {
			texts[m.Path] = string(m.Content)
		}
		assert.Equal(t, map[string]string{"/todo.md": "buy bread\n", "/kept.md": "old\n", "/new.md": "new\n", "/skill.md": "How to add."}, texts)
	}
	assert.Equal(t, 0, server.end())

	require.NoError(t, os.WriteFile(h.path("bad.yaml"), []byte("calls: [{}]"), 0o600))
	for file, says := range map[string]string{"bad.yaml": "one of tool (with input) and bash", "none.yaml": "no such file"} {
		code, out := exitCode(h.command("serve", "--local", h.path("served"), "--session", h.path(file)))
		assert.Equal(t, 2, code, out)
		assert.Contains(t, out, says)
		assert.Contains(t, out, file)
	}
}
