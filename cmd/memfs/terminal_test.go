package main_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

// atTerminal runs memfs on a terminal where somebody has typed an answer.
func (h *host) atTerminal(answer string, args ...string) (code int, said string) {
	h.t.Helper()
	cmd := h.command(args...)
	terminal, err := pty.Start(cmd)
	require.NoError(h.t, err)
	_, err = io.WriteString(terminal, answer)
	require.NoError(h.t, err)
	text, _ := io.ReadAll(terminal) // it ends with EIO when memfs has ended
	_ = cmd.Wait()
	require.NoError(h.t, terminal.Close())
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestOnATerminalADiffIsShownAndNothingHarms(t *testing.T) {
	n := newNotes(t)
	n.mount()
	n.conflict("/a.md", "mine \x1b[2J\u202e\x00\n")
	e := n.losers()[0]
	code, said := n.with("TERM=xterm").atTerminal("", "conflicts", "show", e.ID)
	require.Equal(t, exitcode.OK, code, said)
	file := filepath.Join(n.mnt, "a.md")
	assert.Equal(t, "\x1b[31m--- "+file+"\x1b[0m\n\x1b[32m+++ /a.md ("+e.ID+")\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n"+
		"\x1b[31m-theirs\x1b[0m\n\x1b[32m+mine \\u001b[2J\\u202e\\u0000\x1b[0m\n", said)
	code, said = n.with("NO_COLOR=1").atTerminal("", "conflicts", "show", e.ID)
	require.Equal(t, exitcode.OK, code, said)
	assert.NotContains(t, said, "\x1b")
	code, said = n.atTerminal("", "conflicts", "show", e.ID, "--diff=false")
	require.Equal(t, exitcode.OK, code, said)
	assert.True(t, strings.HasPrefix(said, "mine \x1b[2J"), "as it is, where that is asked for")
}

func TestOnATerminalMemfsAsks(t *testing.T) {
	n := newNotes(t)
	old := n.put("/a.md", "old\n")
	n.mount()
	n.conflict("/b.md", "mine\n")
	n.put("/a.md", "new\n")
	n.must("sync")
	file := filepath.Join(n.mnt, "a.md")
	for _, answer := range []string{"\n", "n\n", "maybe\n", "\x04"} {
		code, said := n.with("NO_COLOR=1").atTerminal(answer, "restore", file, old.VersionID)
		assert.Equal(t, exitcode.Failed, code, said)
		assert.Contains(t, said, "-new\n+old\n")
		assert.Contains(t, said, "Write this to "+file+"? [y/N]")
		assert.Contains(t, said, "memfs: nothing was changed\n")
		assert.Equal(t, "new\n", n.read("a.md"))
		code, said = n.atTerminal(answer, "conflicts", "drop", "--all")
		assert.Equal(t, exitcode.Failed, code, said)
		assert.Contains(t, said, "Discard 1 losing text for good? [y/N]")
		assert.Len(t, n.losers(), 1)
	}
	code, said := n.atTerminal("y\n", "restore", file, old.VersionID)
	assert.Equal(t, exitcode.OK, code, said)
	assert.Equal(t, "old\n", n.read("a.md"))
	code, said = n.atTerminal("Yes\n", "conflicts", "drop", n.losers()[0].ID)
	assert.Equal(t, exitcode.OK, code, said)
	assert.Empty(t, n.losers())
}
