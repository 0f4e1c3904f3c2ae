//go:build linux

package posix

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// typeKeys runs a command in a terminal, types keys once it shows a text, and
// returns what was on the screen.
func typeKeys(t *testing.T, command *exec.Cmd, shows, keys string) string {
	t.Helper()
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(t, err)
	defer terminal.Close()
	hung := time.AfterFunc(30*time.Second, func() { _ = command.Process.Kill() })
	defer hung.Stop()
	var screen strings.Builder
	for typed := false; ; {
		part := make([]byte, 4096)
		n, err := terminal.Read(part)
		screen.Write(part[:n])
		if err != nil {
			break // EIO: the command has ended
		}
		if !typed && strings.Contains(screen.String(), shows) {
			typed = true
			_, err := terminal.WriteString(keys)
			require.NoError(t, err)
		}
	}
	require.NoError(t, command.Wait(), screen.String())
	return screen.String()
}
