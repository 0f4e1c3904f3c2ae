//go:build linux

package posix

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/mounttest"
)

// TestInotify: watchers see what is done through the mount, and nothing of
// what comes from the store.
func TestInotify(t *testing.T) {
	if _, err := exec.LookPath("inotifywait"); err != nil {
		t.Skip("inotifywait is not installed; .ci/run installs it")
	}
	m := mounttest.Start(t, mounttest.Options{Files: map[string]string{"/d/a.md": "one", "/d/b.md": "one"}})
	_, err := os.ReadFile(m.At("d/a.md"))
	require.NoError(t, err)
	watch := exec.Command("inotifywait", "-m", "--format", "%e %f", m.At("d"))
	out, err := watch.StdoutPipe()
	require.NoError(t, err)
	said, err := watch.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, watch.Start())
	t.Cleanup(func() { _ = watch.Process.Kill(); _ = watch.Wait() })
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.Contains(lines.Text(), "established"); {
	}
	events := make(chan string, 100)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			events <- lines.Text()
		}
	}()
	until := func(last string) (seen []string) {
		t.Helper()
		for {
			select {
			case event := <-events:
				seen = append(seen, event)
				if event == last {
					return seen
				}
			case <-time.After(time.Minute):
				require.FailNow(t, "no event", "%s after %q", last, seen)
			}
		}
	}
	end := func() []string {
		require.NoError(t, os.WriteFile(m.At("d/end"), nil, 0o644))
		require.NoError(t, os.Remove(m.At("d/end")))
		return until("DELETE end")
	}

	require.NoError(t, os.WriteFile(m.At("d/local"), []byte("x"), 0o644))
	require.NoError(t, os.Rename(m.At("d/local"), m.At("d/moved")))
	require.NoError(t, os.Chmod(m.At("d/moved"), 0o600))
	require.NoError(t, os.Remove(m.At("d/moved")))
	assert.Equal(t, []string{"CREATE local", "OPEN local", "MODIFY local", "CLOSE_WRITE,CLOSE local",
		"MOVED_FROM local", "MOVED_TO moved", "ATTRIB moved", "DELETE moved"}, until("DELETE moved"))

	m.Put("/d/a.md", "changed")
	m.Put("/d/new.md", "new")
	m.Sync()
	text, err := os.ReadFile(m.At("d/new.md"))
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	seen := end()
	for _, event := range seen {
		assert.NotContains(t, event, "a.md")
		assert.NotContains(t, event, "CREATE new.md")
		assert.NotContains(t, event, "MODIFY new.md")
	}
	m.Delete("/d/b.md")
	m.Sync()
	assert.NoFileExists(t, m.At("d/b.md"))
	t.Logf("a remote delete shows as %q", end())
}
