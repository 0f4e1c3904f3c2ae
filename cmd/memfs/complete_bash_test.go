package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestBashCompletes types at a bash, as a person does, and sees what comes.
func TestBashCompletes(t *testing.T) {
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		t.Skip("bash-completion is not installed, without which bash completes for no program of cobra's")
	}
	h := mounting(t).with("PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "TERM=dumb")
	h.store("handbook")
	h.store("My Notes")
	h.must("mount", "handbook:"+h.path("mnt"), "--daemon")
	bash := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-i")
	bash.Env, bash.Dir = h.env, h.dir
	terminal, err := pty.StartWithSize(bash, &pty.Winsize{Rows: 40, Cols: 200})
	require.NoError(t, err)
	shown := make(chan string)
	defer func() {
		_ = bash.Process.Kill()
		_ = bash.Wait()
		_ = terminal.Close()
		for range shown {
		}
	}()
	go func() {
		defer close(shown)
		part := make([]byte, 4096)
		for {
			n, err := terminal.Read(part)
			if err != nil {
				return
			}
			shown <- string(part[:n])
		}
	}()
	await := func(text string) {
		t.Helper()
		late := time.After(time.Minute)
		for seen := ""; !strings.Contains(seen, text); {
			select {
			case more := <-shown:
				seen += more
			case <-late:
				require.Fail(t, "it never came", "%q, but %q", text, seen)
			}
		}
	}
	types := func(text string) {
		t.Helper()
		_, err := io.WriteString(terminal, text)
		require.NoError(t, err)
	}
	types(". " + library + "; . <(memfs completion bash); PS1='now: '\n")
	await("\nnow: ")
	for typed, comes := range map[string]string{
		"memfs unmo\t":                      "memfs unmount ",
		"memfs mount ha\t":                  "memfs mount handbook",
		`memfs mount My\ N` + "\t":          `memfs mount My\ Notes`,
		"memfs mount handbook --sync-d\t":   "--sync-deletions",
		"memfs unmount " + h.dir + "/m\t":   h.path("mnt"),
		"memfs store export handbook sta\t": "state/",
	} {
		types(typed)
		await(comes)
		types("\x15") // and away with it
	}
	types("exit\n")
}
