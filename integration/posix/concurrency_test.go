//go:build linux

package posix

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/integration/mounttest"
	"memfs/store"
)

// version is a text that shows whether it is whole.
func version(i int) string {
	return strings.Repeat(string(rune('a'+i%26)), 500+i%7*1000) + "\n"
}

// torn says what is wrong with a text that should be a version.
func torn(text string) string {
	body := strings.TrimSuffix(text, "\n")
	switch {
	case body == text || body == "":
		return fmt.Sprintf("cut off, or empty: %d bytes", len(text))
	case (len(body)-500)%1000 != 0 || strings.Count(body, body[:1]) != len(body):
		return fmt.Sprintf("two versions mixed in %d bytes", len(text))
	}
	return ""
}

// TestNoTornReads: 100,000 reads of whole files while their texts change in the
// store and here, and passes bring the changes over, each see one version.
func TestNoTornReads(t *testing.T) {
	const files, reads = 4, 100_000
	first := map[string]string{}
	for i := range files {
		first[fmt.Sprintf("/remote-%d", i)] = version(i)
	}
	m := mounttest.Start(t, mounttest.Options{Files: first, AllowMassDelete: true})
	require.NoError(t, os.WriteFile(m.At("local"), []byte(version(0)), 0o600))
	idle := waiting(t, m)

	var left atomic.Int64
	left.Store(reads)
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				name := "local"
				if n := i % (files + 1); n < files {
					name = fmt.Sprintf("remote-%d", n)
				}
				text, err := os.ReadFile(m.At(name))
				if !assert.NoError(t, err) || !assert.Empty(t, torn(string(text)), name) {
					left.Store(0)
				}
			}
		})
	}
	writers.Go(func() { // saves by rename
		for i := 0; left.Load() > 0; i++ {
			time.Sleep(time.Millisecond) // leaves the readers time to see each
			assert.NoError(t, os.WriteFile(m.At("tmp"), []byte(version(i)), 0o600))
			assert.NoError(t, os.Rename(m.At("tmp"), m.At("local")))
		}
	})
	changes, memories := 0, m.Memories()
	for ; left.Load() > 0; changes++ {
		path, text := fmt.Sprintf("/remote-%d", changes%files), []byte(version(changes))
		changed, err := m.Remote.Update(t.Context(), memories[path].ID, store.Update{Content: &text, Expect: memories[path].SHA})
		require.NoError(t, err)
		memories[path] = changed
		m.Sync()
	}
	readers.Wait()
	writers.Wait()
	t.Logf("%d remote changes", changes)
	m.Sync()
	for path, text := range m.Texts() {
		here, err := os.ReadFile(m.At(path))
		require.NoError(t, err)
		assert.Equal(t, text, string(here), path)
	}
	idle()
}

// TestNothingHangs: programs that are killed in the middle of anything leave no
// request behind, and none waits for a pass, nor a pass for one.
func TestNothingHangs(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{Files: map[string]string{"/a": version(0)}, NoHydrate: true, AllowMassDelete: true})
	idle := waiting(t, m)
	stop := time.Now().Add(2 * time.Second)
	var programs sync.WaitGroup
	for i := range 4 {
		programs.Go(func() {
			for round := 0; time.Now().Before(stop); round++ {
				script := fmt.Sprintf(`while :; do cat a > d%d-x; mv d%d-x d%d-y; mkdir -p e; ls -l >/dev/null; grep -r x . >/dev/null; rm -f d%d-y; sync -f .; done`, i, i, i, i)
				command := exec.Command("sh", "-c", script)
				command.Dir = m.Path
				command.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
				if !assert.NoError(t, command.Start()) {
					return
				}
				time.Sleep(time.Duration(5+round%20) * time.Millisecond) // wherever it is then
				assert.NoError(t, unix.Kill(-command.Process.Pid, unix.SIGKILL))
				_ = command.Wait()
			}
		})
	}
	for i := 0; time.Now().Before(stop); i++ {
		m.Put("/a", version(i))
		began := time.Now()
		m.Sync()
		assert.Less(t, time.Since(began), time.Minute)
	}
	programs.Wait()
	idle()
	assert.Empty(t, m.Sync().Unsent)
	assert.Zero(t, m.Status().Dirty)
}

// TestR20_EndWhileInUse: everything that was acknowledged while the session
// ended is in the store then, with the mount busy for longer than it is waited
// for.
func TestR20_EndWhileInUse(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{})
	ending := make(chan struct{})
	wrote := make([]int, 3)
	var writers sync.WaitGroup
	for w := range wrote {
		dir, err := unix.Open(m.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		writers.Go(func() {
			defer unix.Close(dir)
			var until <-chan time.Time
			for end := ending; ; {
				select {
				case <-end:
					end, until = nil, time.After(3*time.Second)
				case <-until:
					return
				case <-time.After(time.Duration(w+20) * time.Millisecond):
				}
				fd, err := unix.Openat(dir, fmt.Sprintf("%d-%d", w, wrote[w]), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
				if !assert.NoError(t, err) {
					return
				}
				n, err := unix.Write(fd, []byte(version(wrote[w])))
				assert.NoError(t, err)
				assert.Len(t, version(wrote[w]), n)
				assert.NoError(t, unix.Close(fd))
				wrote[w]++
			}
		})
	}
	m.Sync()
	close(ending)
	result := m.Stop()
	writers.Wait()
	assert.Empty(t, result.Unsent)
	want := map[string]string{}
	for w, n := range wrote {
		for i := range n {
			want[fmt.Sprintf("/%d-%d", w, i)] = version(i)
		}
	}
	assert.Equal(t, want, m.Texts())
}

// waiting returns a check that the kernel waits for no answer of the mount's
// process any more.
func waiting(t *testing.T, m *mounttest.Mount) (idle func()) {
	control, ok := mounttest.Connections(t)
	if !ok {
		return func() { t.Log("only root can see what the kernel waits for") }
	}
	var stat unix.Stat_t
	require.NoError(t, unix.Stat(m.Path, &stat))
	count := filepath.Join(control, fmt.Sprint(unix.Minor(stat.Dev)), "waiting")
	require.FileExists(t, count)
	return func() {
		assert.Eventually(t, func() bool {
			n, err := os.ReadFile(count)
			return err == nil && string(n) == "0\n"
		}, 10*time.Second, 10*time.Millisecond, "the kernel still waits for an answer")
	}
}
