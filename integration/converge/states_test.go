//go:build linux

package converge

import (
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/mounttest"
	"memfs/store/local"
)

func TestR11_AFullStoreTakesTheNextFileWhenOneIsFreed(t *testing.T) {
	t.Parallel()
	const most = 4
	s := newServer(t, local.Options{MaxMemories: most})
	m := s.mount(mounttest.Options{Interval: time.Second, MaxMemories: most,
		Files: map[string]string{"/1": "1", "/2": "2", "/3": "3", "/4": "4"}})
	m.write("first", "waits for room")
	m.write("second", "waits, too")
	m.write("1", "an update needs no room")
	m.eventually("the update goes", func() bool { return s.texts()["/1"] == "an update needs no room" })
	m.Sync()
	assert.Len(t, s.texts(), most)
	assert.Equal(t, 2, m.Status().Held+m.Status().Dirty)

	s.delete("/2")
	m.eventually("freed there", func() bool { return s.texts()["/first"] == "waits for room" })
	assert.NotContains(t, s.texts(), "/second", "one was freed")
	m.remove("3")
	m.eventually("freed here", func() bool { return s.texts()["/second"] == "waits, too" })
	assert.Equal(t, s.texts(), m.tree())
	assert.Equal(t, 1, m.said("store_full"), "once while it lasts")
}

func TestR11_AnArchivedStoreTakesDeletesOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t, local.Options{})
	m := s.mount(mounttest.Options{Interval: time.Second, Files: map[string]string{"/a": "a", "/b": "b", "/c": "c"}})
	s.archive()
	m.write("a", "edited")
	m.write("new", "new")
	m.eventually("it is noticed", func() bool { return m.said("store_archived") == 1 })
	s.asked()
	m.write("b", "edited, too")
	m.remove("c")
	m.eventually("deletes go", func() bool { return len(s.texts()) == 2 })
	m.Sync()
	m.Sync()
	for _, request := range changes(s.asked()) {
		assert.True(t, strings.HasPrefix(request, http.MethodDelete+" "), "%s: nothing is tried again", request)
	}
	assert.Equal(t, map[string]string{"/a": "a", "/b": "b"}, s.texts())
	assert.Equal(t, map[string]string{"/a": "edited", "/b": "edited, too", "/new": "new"}, m.tree())
	assert.Equal(t, 1, m.said("store_archived"), "one line")
	assert.ElementsMatch(t, []string{"/a", "/b", "/new"}, m.Stop().Unsent[m.Path], "they stay in the journal")
}

func TestR14_ARefusedCredentialFreezesPushesUntilItIsGood(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		name   string
		status int
		kind   string
		of     func(*http.Request) bool
	}{
		{"401 for everything", http.StatusUnauthorized, "authentication_error", func(*http.Request) bool { return true }},
		{"403 for changes", http.StatusForbidden, "permission_error", func(r *http.Request) bool { return r.Method != http.MethodGet }},
	} {
		t.Run(refusal.name, func(t *testing.T) {
			s := newServer(t, local.Options{})
			m := s.mount(mounttest.Options{Interval: time.Second, Files: map[string]string{"/a": "a", "/gone": "gone"}})
			s.fail(func(w http.ResponseWriter, r *http.Request) bool {
				if refusal.of(r) {
					refuse(w, refusal.status, refusal.kind)
				}
				return refusal.of(r)
			})
			s.asked()
			for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
				m.write(name, "new")
			}
			m.write("a", "edited")
			m.remove("gone")
			assert.NotEmpty(t, m.SyncError())
			assert.NotEmpty(t, m.SyncError())
			assert.NotEmpty(t, m.SyncError())
			assert.LessOrEqual(t, len(changes(s.asked())), 8+4, "all at once at most once, then one a pass")
			assert.Equal(t, 1, m.said("unauthorized"), "one line")
			assert.Equal(t, "edited", m.tree()["/a"], "the mount goes on")

			s.fail(nil)
			m.eventually("pushes go on by themselves", func() bool { return maps.Equal(s.texts(), m.tree()) })
		})
	}
}

func TestR4_AStuckRequestHoldsNoOtherMemory(t *testing.T) {
	t.Parallel()
	s := newServer(t, local.Options{})
	m := s.mount(mounttest.Options{Interval: time.Second, Files: map[string]string{"/stuck": "old", "/a": "old"}})
	stuck, held, release := s.memories()["/stuck"].ID, make(chan struct{}, 100), make(chan struct{})
	s.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, "/"+stuck) {
			return false
		}
		held <- struct{}{}
		select {
		case <-release:
			return false
		case <-r.Context().Done():
			return true
		}
	})
	m.write("stuck", "new")
	<-held
	for _, text := range []string{"first", "second"} {
		m.write("a", text)
		m.write(text, text)
		m.eventually("others go out", func() bool { return s.texts()["/a"] == text && s.texts()["/"+text] == text })
	}
	_, err := s.client().Create(t.Context(), "/from there", []byte("news"))
	require.NoError(t, err)
	m.eventually("others come in", func() bool { return m.tree()["/from there"] == "news" })
	assert.Equal(t, "old", s.texts()["/stuck"])
	assert.Empty(t, held, "one request a memory")
	close(release)
	m.eventually("it goes when it can", func() bool { return s.texts()["/stuck"] == "new" })
}

func TestR14_AStuckFetchHoldsNoOtherFile(t *testing.T) {
	t.Parallel()
	s := newServer(t, local.Options{})
	m := s.mount(mounttest.Options{Interval: time.Second, NoHydrate: true, Files: map[string]string{"/stuck": "old", "/a": "a"}})
	stuck, held := s.memories()["/stuck"].ID, make(chan struct{}, 100)
	s.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/"+stuck) {
			return false
		}
		held <- struct{}{}
		<-r.Context().Done()
		return true
	})
	read := make(chan error)
	began := time.Now()
	go func() {
		_, err := os.ReadFile(m.At("stuck"))
		read <- err
	}()
	<-held
	text, err := os.ReadFile(m.At("a"))
	require.NoError(t, err)
	assert.Equal(t, "a", string(text))
	m.write("b", "b")
	m.eventually("others go out", func() bool { return s.texts()["/b"] == "b" })
	select {
	case err := <-read:
		assert.Fail(t, "the reader did not wait", "%v", err)
	default:
	}
	require.Error(t, <-read)
	assert.Less(t, time.Since(began), 15*time.Second, "EIO after 10 s, although the kernel asks again for what it could not read ahead")
}
