package worker_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// sums is a skill with a program and a file in a directory.
var sums = local.Skill{Name: "sums", Files: map[string]string{
	"SKILL.md": "How to add.\n", "scripts/add": "#!/bin/sh\necho $(($1 + $2))\n", "scripts/lib/note.txt": "a note\n",
}}

// The skills of a session's agent are where its tools look for them while it
// lasts, whoever serves it; a skill that cannot be had does not block the
// others, and what else lies there stays.
func TestSkills(t *testing.T) {
	outcomes := make(map[string][]string)
	for name, with := range map[string]func(*host) (end func()){"official": withOfficial, "memfs": withMemfs} {
		h := newHost(t, local.Options{})
		require.NoError(t, os.MkdirAll(h.path("work", "skills", "mine"), 0o777))
		require.NoError(t, os.Chmod(h.path("work", "skills"), 0o777))
		x := h.start(local.SessionSpec{Stores: []local.Attachment{h.store("notes", nil)}, Script: local.Script{
			Skills: []local.Skill{sums, {Name: "greet", Files: map[string]string{"SKILL.md": "How to greet.\n"}}},
			Calls: []local.ToolCall{
				bash("find skills -type f | sort; pwd"), read("skills/sums/SKILL.md"), bash("skills/sums/scripts/add 2 3"),
				bash("cat skills/sums/scripts/lib/note.txt"), write("skills/greet/more.md", "of the session"), call("glob", "pattern", "skills/**/SKILL.md"),
			},
		}})
		end := with(h)
		h.stopped(x)
		end()
		for _, text := range texts(x) {
			lines := strings.Split(strings.ReplaceAll(text, h.path("work"), "WORK"), "\n")
			slices.Sort(lines)
			outcomes[name] = append(outcomes[name], strings.Join(lines, "\n"))
		}
		left, err := os.ReadDir(h.path("work", "skills"))
		require.NoError(t, err)
		require.Len(t, left, 1, "the session's skills are gone")
		assert.Equal(t, "mine", left[0].Name())
		_ = os.Remove(h.mounts) // the official worker leaves it
	}
	assert.Equal(t, outcomes["official"], outcomes["memfs"])
	assert.Equal(t, "How to add.", outcomes["memfs"][1])
	assert.Equal(t, "5", outcomes["memfs"][2])
}

// A skill that cannot be downloaded is left out, and the log says which.
func TestASkillThatCannotBeHad(t *testing.T) {
	h := newHost(t, local.Options{})
	h.wire.refuse("/content", http.StatusNotFound)
	x := h.start(local.SessionSpec{Script: local.Script{Skills: []local.Skill{sums}, Calls: []local.ToolCall{bash("ls skills 2>/dev/null; echo served")}}})
	w := h.poll("--log-format=json")
	h.stopped(x)
	assert.Equal(t, []string{"served"}, texts(x))
	assert.Equal(t, 0, w.end())
	w.says("failed to download skill")
	for line := range strings.Lines(w.log.String()) {
		assert.True(t, strings.HasPrefix(line, "{"), line)
	}
}

// With a directory of its own, a session has its skills there, and no other.
func TestSkillsAreTheSessions(t *testing.T) {
	h := newHost(t, local.Options{})
	first := h.start(local.SessionSpec{Script: local.Script{Skills: []local.Skill{sums}, End: local.EndOpen}})
	second := h.open()
	w := h.poll("--max-sessions=2")
	assert.Equal(t, "7", h.do(first, bash("skills/sums/scripts/add 3 4")))
	assert.Equal(t, "none", h.do(second, bash("ls skills 2>/dev/null || echo none")))
	h.finish(first)
	h.finish(second)
	assert.Equal(t, 0, w.end())
}

// What a killed session had in the working directory does not meet the next
// one: its tools clean up when their worker dies, also during a call.
func TestSkillsGoWithAKilledSession(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.start(local.SessionSpec{Script: local.Script{Skills: []local.Skill{sums}, Calls: []local.ToolCall{bash("ls skills; yes | head -n 1"), bash("sleep 1000")}}})
	w := h.poll("--log-format=json")
	require.NoError(t, x.WaitWork(h.within(), "active"))
	require.Eventually(t, func() bool { return strings.Count(w.log.String(), "executing tool") == 2 }, time.Minute, 10*time.Millisecond)
	require.DirExists(t, h.path("work", "skills", "sums"))
	require.NoError(t, syscall.Kill(w.serving(), syscall.SIGKILL))
	require.Eventually(t, func() bool { return len(processes()) == 1 }, time.Minute, 10*time.Millisecond)
	assert.NoDirExists(t, h.path("work", "skills", "sums"))
	assert.Equal(t, []string{"sums\ny"}, texts(x))
	assert.Equal(t, 0, w.end())
	for line := range strings.Lines(w.log.String()) {
		assert.True(t, strings.HasPrefix(line, "{"), line)
	}
}
