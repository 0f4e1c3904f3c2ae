package worker_test

import (
	"context"
	"log/slog" //nolint:depguard // what the SDK takes
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// official serves with the SDK's own worker, its memory sync on, until the
// returned function is called.
func (h *host) official() (end func()) {
	h.t.Helper()
	transport := &http.Transport{}
	client := anthropic.NewClient(option.WithBaseURL(h.url), option.WithAPIKey("an API key"), option.WithHTTPClient(&http.Client{Transport: transport}))
	w := environments.NewEnvironmentWorker(client, environments.EnvironmentWorkerOptions{
		EnvironmentID: local.DefaultEnvironment, EnvironmentKey: h.EnvironmentKey(), Workdir: h.path("work"), Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		assert.NoError(h.t, <-ended)
		transport.CloseIdleConnections()
	}
}

// memories and rules are what the stores of a parity script hold at first.
var (
	memories = map[string]string{"/todo.md": "buy milk\n", "/old.md": "old\n", "/d/deep.md": "deep\n", "/d/e/deeper.md": "deeper\n", "/gone.md": "gone\n"}
	rules    = map[string]string{"/rule.md": "be kind\n"}
)

// outcome is what came of a script.
type outcome struct {
	answers      []string
	notes, rules map[string]string
}

// play has a worker serve a script. NOTES and RULES in it are the mounts, RULES
// read-only.
func play(t *testing.T, with func(*host) (end func()), script []local.ToolCall) outcome {
	t.Helper()
	h := newHost(t, local.Options{})
	inNotes, inRules := h.store("notes", memories), h.store("rules", rules)
	inRules.ReadOnly = true
	names := strings.NewReplacer("NOTES", h.at("notes"), "RULES", h.at("rules"), "WORK", h.path("work"))
	var calls []local.ToolCall
	for _, c := range script {
		input := make(map[string]any)
		for name, value := range c.Input {
			if text, ok := value.(string); ok {
				value = names.Replace(text)
			}
			input[name] = value
		}
		calls = append(calls, local.ToolCall{Name: c.Name, Input: input})
	}
	x := h.session([]local.Attachment{inNotes, inRules}, calls...)
	end := with(h)
	h.stopped(x)
	end()
	back := strings.NewReplacer(h.at("notes"), "NOTES", h.at("rules"), "RULES", h.path("work"), "WORK")
	var answers []string
	for i, text := range texts(x) {
		text = back.Replace(text)
		if calls[i].Name == "glob" { // newest first, which is a matter of milliseconds
			lines := strings.Split(text, "\n")
			slices.Sort(lines)
			text = strings.Join(lines, "\n")
		}
		answers = append(answers, text)
	}
	_ = os.Remove(h.mounts) // the official worker leaves it
	return outcome{answers, h.contents(inNotes), h.contents(inRules)}
}

func withOfficial(h *host) func() { return h.official() }

func withMemfs(h *host) func() {
	w := h.poll(never)
	return func() { assert.Equal(h.t, 0, w.end()) }
}

func call(tool string, input ...string) local.ToolCall {
	c := local.ToolCall{Name: tool, Input: map[string]any{}}
	for i := 0; i < len(input); i += 2 {
		c.Input[input[i]] = input[i+1]
	}
	return c
}

// The same scripts, run by the official worker and by memfs, have the same
// answers and leave the same stores. Where they do not, docs/WORKER.md says why.
func TestParity(t *testing.T) {
	for name, script := range map[string][]local.ToolCall{
		"files": {
			read("NOTES/todo.md"), write("NOTES/new/a.md", "a\n"), edit("NOTES/todo.md", "milk", "bread"), read("NOTES/todo.md"),
			read("NOTES/none.md"), edit("NOTES/todo.md", "nothing like it", "x"), write("NOTES/todo.md", "all new\n"),
			call("glob", "pattern", "**/*.md", "path", "NOTES"), call("grep", "pattern", "deep", "path", "NOTES"),
		},
		"shell": {
			bash("cat NOTES/d/deep.md"), bash("cd NOTES && echo more >> todo.md && cat todo.md"), bash("pwd; find . -type f | sort"),
			bash("sed -i s/milk/tea/ todo.md && cp todo.md copy.md && rm gone.md && wc -c *.md"), bash("false"), bash("cat none.md"),
			bash("mkdir -p x/y && echo z > x/y/z.md && rmdir d 2>&1; ls d"), bash("printf 'no newline' > plain; : > empty; od -c plain empty"),
		},
		"rename": {bash("cd NOTES && mv old.md renamed.md && mv d moved && mv gone.md d2.md"), bash("cd NOTES && find . -type f | sort && cat moved/e/deeper.md")},
		"editors": {
			bash("cd NOTES && cp todo.md .todo.md.tmp && echo saved > .todo.md.tmp && mv .todo.md.tmp todo.md && cat todo.md"),
			bash("cd NOTES && mv old.md old.bak && echo new > old.md && rm old.bak && cat old.md"),
		},
		"read-only": {
			write("RULES/rule.md", "be rude\n"), edit("RULES/rule.md", "kind", "rude"), write("RULES/new.md", "x"), read("RULES/rule.md"),
			bash("echo rude > RULES/rule.md && cat RULES/rule.md"), bash("rm RULES/rule.md; echo new > RULES/new.md; ls RULES"),
		},
		"outside":     {read("/etc/hostname"), write("NOTES/../x.md", "x"), write("WORK/in.md", "in the working directory"), read("in.md"), bash("cat in.md")},
		"permissions": {bash("cd NOTES && chmod 644 todo.md && touch -d 2020-01-01 todo.md && stat -c %a todo.md"), bash("cd NOTES && stat -c '%a %F' . d todo.md old.md")},
		"limits":      {bash("cd NOTES && head -c 102400 /dev/zero | tr '\\0' a > full.md && wc -c full.md"), bash("cd NOTES && printf 'caf\\303\\251' > 'caf\u00e9.md' && cat caf\u00e9.md")},
		"restart":     {bash("cd NOTES; X=1; echo $X $PWD"), call("bash", "command", "sleep 60", "timeout_ms", "300"), bash("echo $X $PWD")},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "restart" {
				script[1].Input["timeout_ms"] = 300
			}
			assert.Equal(t, play(t, withOfficial, script), play(t, withMemfs, script))
		})
	}
}

// Where memfs does better, or other; docs/WORKER.md lists the same.
func TestParity_Differences(t *testing.T) {
	for _, d := range []struct {
		name            string
		script          []local.ToolCall
		official, memfs func(*testing.T, outcome)
	}{
		{
			name:   "a name that the store cannot hold is refused at once",
			script: []local.ToolCall{bash("cd NOTES && echo x > $'bell\\a.md'")},
			official: func(t *testing.T, o outcome) {
				assert.Equal(t, "(no output)", o.answers[0])
				assert.Equal(t, memories, o.notes)
			},
			memfs: func(t *testing.T, o outcome) {
				assert.Contains(t, o.answers[0], "error")
				assert.Contains(t, o.answers[0], "Invalid argument")
				assert.Equal(t, memories, o.notes)
			},
		},
		{
			name:   "what is too long is refused at the write",
			script: []local.ToolCall{bash("cd NOTES && head -c 200000 /dev/zero | tr '\\0' a > big.md")},
			official: func(t *testing.T, o outcome) {
				assert.Equal(t, "(no output)", o.answers[0])
				assert.NotContains(t, o.notes, "/big.md")
			},
			memfs: func(t *testing.T, o outcome) {
				assert.Contains(t, o.answers[0], "File too large")
			},
		},
		{
			name:     "links are refused",
			script:   []local.ToolCall{bash("cd NOTES && ln -s todo.md link.md; ln todo.md hard.md; ls")},
			official: func(t *testing.T, o outcome) { assert.Contains(t, o.answers[0], "link.md") },
			memfs: func(t *testing.T, o outcome) {
				assert.Contains(t, o.answers[0], "Operation not permitted")
				assert.NotContains(t, o.notes, "/hard.md")
			},
		},
		{
			name:   "a file in place of a directory, and the other way round",
			script: []local.ToolCall{bash("cd NOTES && rm -r d && echo file > d && rm todo.md && mkdir todo.md && echo in > todo.md/in.md")},
			official: func(t *testing.T, o outcome) {
				assert.Contains(t, o.notes, "/d/deep.md", "the official worker never gets there")
			},
			memfs: func(t *testing.T, o outcome) {
				assert.Equal(t, map[string]string{"/old.md": "old\n", "/gone.md": "gone\n", "/d": "file\n", "/todo.md/in.md": "in\n"}, o.notes)
			},
		},
		{
			name:     "the editors' and the system's own files stay here",
			script:   []local.ToolCall{bash("cd NOTES && echo x > .todo.md.swp && echo x > todo.md~ && echo x > .DS_Store && echo x > kept.md")},
			official: func(t *testing.T, o outcome) { assert.Contains(t, o.notes, "/todo.md~") },
			memfs: func(t *testing.T, o outcome) {
				assert.Len(t, o.notes, len(memories)+1)
				assert.Contains(t, o.notes, "/kept.md")
			},
		},
		{
			name:     "a backslash is part of a name",
			script:   []local.ToolCall{bash("cd NOTES && echo x > 'a\\b.md' && ls")},
			official: func(*testing.T, outcome) {},
			memfs:    func(t *testing.T, o outcome) { assert.Contains(t, o.notes, `/a\b.md`) },
		},
		{
			name:     "no process of the agent outlives the session, none of memfs's is in sight",
			script:   []local.ToolCall{bash("ps ax -o comm= | grep -c . ")},
			official: func(*testing.T, outcome) {},
			memfs:    func(t *testing.T, o outcome) { require.Regexp(t, `^[0-9]$`, o.answers[0]) },
		},
	} {
		t.Run(d.name, func(t *testing.T) {
			d.official(t, play(t, withOfficial, d.script))
			d.memfs(t, play(t, withMemfs, d.script))
		})
	}
}
