//go:build linux

package converge

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/integration/mounttest"
	"memfs/store"
)

func TestMain(m *testing.M) { mounttest.Main(m) }

// mount is a mount of the server's store, with what its process logs.
type mount struct {
	*mounttest.Mount
	t   *testing.T
	log *logs
}

// logs is a test that keeps what is logged to it.
type logs struct {
	testing.TB
	mu    sync.Mutex
	lines []string
}

// Log keeps the line.
func (l *logs) Log(args ...any) {
	l.mu.Lock()
	l.lines = append(l.lines, fmt.Sprint(args...))
	l.mu.Unlock()
	l.TB.Log(args...)
}

// said counts the lines with an event of this code.
func (m *mount) said(code string) (n int) {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	for _, line := range m.log.lines {
		if strings.Contains(line, fmt.Sprintf("%q: %q", "code", code)) {
			n++
		}
	}
	return n
}

// mount mounts the store; the first mount makes it.
func (s *server) mount(o mounttest.Options) *mount {
	s.t.Helper()
	o.URL = s.URL
	log := &logs{TB: s.t}
	m := &mount{Mount: mounttest.Start(log, o), t: s.t, log: log}
	s.mu.Lock()
	s.store = m.StoreID
	s.mu.Unlock()
	return m
}

func (m *mount) write(name, text string) {
	m.t.Helper()
	path := m.At(name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
}

func (m *mount) remove(name string) {
	m.t.Helper()
	require.NoError(m.t, os.Remove(m.At(name)))
}

// tree is what can be read in the mount, by path.
func (m *mount) tree() map[string]string {
	m.t.Helper()
	files := map[string]string{}
	require.NoError(m.t, filepath.WalkDir(m.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == store.MarkerName {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, m.Path)] = string(text)
		return err
	}))
	return files
}

// eventually waits for what a pass or two bring.
func (m *mount) eventually(what string, f func() bool) {
	m.t.Helper()
	require.Eventually(m.t, f, time.Minute, 20*time.Millisecond, what)
}
