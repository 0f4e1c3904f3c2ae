//go:build linux

package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/workload"
	"memfs/store"
)

// change is what happens to a file before the kill, and is on its way to the
// store when memfs is killed.
var changes = map[string]func(t *testing.T, h *host, name string){
	"create": func(t *testing.T, h *host, name string) { write(t, h.path(name), "sent "+name+"\n") },
	"update": func(t *testing.T, h *host, name string) { write(t, h.path(name), "sent "+name+"\n") },
	"rename": func(t *testing.T, h *host, name string) {
		require.NoError(t, os.Rename(h.path(name), h.path(name)+".new"))
	},
	"delete": func(t *testing.T, h *host, name string) { require.NoError(t, os.Remove(h.path(name))) },
}

// after is what happens to it once memfs is there again.
var after = map[string]func(t *testing.T, h *host, name string){
	"nothing": func(*testing.T, *host, string) {},
	"edit":    func(t *testing.T, h *host, name string) { write(t, h.path(name), "edited "+name+"\n") },
	"remove": func(t *testing.T, h *host, name string) {
		if err := os.Remove(h.path(name)); !os.IsNotExist(err) {
			require.NoError(t, err)
		}
	},
	"move": func(t *testing.T, h *host, name string) {
		if err := os.Rename(h.path(name), h.path(name)+".moved"); !os.IsNotExist(err) {
			require.NoError(t, err)
		}
	},
}

// arrivals are when a request is carried out: before the kill, never, or when
// the next memfs has looked at the store.
func (s *server) arrivals() map[string]func(*http.Request, []byte, func()) {
	return map[string]func(*http.Request, []byte, func()){"at once": atOnce, "never": never, "late": s.later(2500 * time.Millisecond)}
}

// TestR16_KilledBetweenSendAndAnswer kills memfs while requests of all kinds
// wait for their answer, some carried out, some not and some later, and changes
// the files once more afterwards. Mount and store end equal, no change makes two
// versions, and nothing of memfs's own is taken for somebody else's.
func TestR16_KilledBetweenSendAndAnswer(t *testing.T) {
	for then, again := range after {
		t.Run(then, func(t *testing.T) { loseAnswers(t, again, true) })
	}
}

// TestR16_AnswersAreLostAndMemfsLivesOn is the same without a kill: what carries
// requests may carry one out when its connection is long cut.
func TestR16_AnswersAreLostAndMemfsLivesOn(t *testing.T) {
	for then, again := range after {
		t.Run(then, func(t *testing.T) { loseAnswers(t, again, false) })
	}
}

// tree are the mount's files, by path in the store.
func (h *host) tree() map[string]string {
	h.t.Helper()
	found, err := workload.Look(h.mnt)
	require.NoError(h.t, err)
	files := map[string]string{}
	for name, text := range found {
		if name != store.MarkerName {
			files["/"+name] = text
		}
	}
	return files
}

func loseAnswers(t *testing.T, again func(*testing.T, *host, string), kill bool) {
	h := newHost(t)
	h.args = []string{"--allow-mass-delete"}
	p := h.start()
	arrivals := h.server.arrivals()
	var names []string
	for change := range changes {
		for arrival := range arrivals {
			name := strings.ReplaceAll(change+" "+arrival, " ", "-")
			names = append(names, name)
			if change != "create" {
				write(t, h.path(name), "before "+name+"\n")
			}
		}
	}
	h.sync()
	paths := map[string]string{}
	for at, m := range h.stored() {
		paths[m.ID] = at
	}

	var arrived sync.WaitGroup
	arrived.Add(len(names))
	over := make(chan struct{})
	h.server.set(&trap{all: true, sprung: func() { arrived.Done(); <-over }, apply: func(r *http.Request, body []byte, do func()) {
		at := paths[path.Base(r.URL.Path)]
		if at == "" {
			var create struct{ Path string }
			assert.NoError(t, json.Unmarshal(body, &create))
			at = create.Path
		}
		_, arrival, _ := strings.Cut(strings.TrimPrefix(at, "/"), "-")
		arrivals[strings.ReplaceAll(arrival, "-", " ")](r, body, do)
	}})
	for _, name := range names {
		change, _, _ := strings.Cut(name, "-")
		changes[change](t, h, name)
	}
	syncing := make(chan struct{})
	go func() {
		defer close(syncing)
		_, _, _ = h.run("sync", h.mnt)
	}()
	arrived.Wait()
	h.server.set(nil)
	if kill {
		p.kill()
		close(over)
		p = h.start()
	} else {
		close(over)
		<-syncing
	}
	for _, name := range names {
		at := name
		if strings.HasPrefix(name, "rename") {
			at += ".new"
		}
		again(t, h, at)
	}
	want := h.tree() // nobody else changes anything
	h.sync()
	h.server.late.Wait()
	h.sync()
	h.sync()
	assert.Equal(t, want, h.tree(), "%s", tail(h.log()))
	assert.Equal(t, want, h.texts(), "%s", tail(h.log()))
	assert.Zero(t, p.stop())
	assert.Equal(t, want, h.texts())
	for id, history := range h.server.history(h.store) {
		for i := 1; i < len(history); i++ {
			a, b := history[i-1], history[i]
			assert.False(t, b.Operation != store.Deleted && a.SHA == b.SHA && a.Path == b.Path, "%s %s: one change made two versions", id, b.Path)
		}
	}
	for _, code := range []string{"conflict", "restored", "recreated", "rename_undone", "path_lost", "stray"} {
		assert.Empty(t, h.logged(code), code)
	}
}

// An append is sent and carried out, memfs is killed before it hears so, and
// then somebody else changes the memory: the store wins, the text here is kept,
// and what is appended afterwards goes to the end of the store's text.
func TestR16_AppendAcrossKillAndRemoteChange(t *testing.T) {
	h := newHost(t)
	m, err := h.client().Create(t.Context(), "/f", []byte("base\n"))
	require.NoError(t, err)
	p := h.start()
	h.server.set(&trap{apply: atOnce, sprung: p.kill})
	appendTo(t, h.path("f"), "mine1\n")
	_, _, _ = h.run("sync", h.mnt)
	<-p.over
	require.Equal(t, "base\nmine1\n", h.texts()["/f"])
	h.update(m.ID, h.stored()["/f"].SHA, "store line one\nstore line two\n")

	p = h.start()
	h.sync()
	assert.Equal(t, "store line one\nstore line two\n", read(t, h.path("f")))
	assert.Len(t, h.logged("conflict"), 1)
	appendTo(t, h.path("f"), "mine2\n")
	assert.Zero(t, p.stop())
	assert.Equal(t, "store line one\nstore line two\nmine2\n", h.texts()["/f"])
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprint(f, text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// A request of a killed memfs arrives when the next one has ended properly: the
// one after that still knows it.
func TestR16_RequestArrivesAfterACleanEnd(t *testing.T) {
	h := newHost(t)
	p := h.start()
	arrive := make(chan struct{})
	h.server.set(&trap{sprung: p.kill, apply: func(_ *http.Request, _ []byte, do func()) {
		h.server.late.Go(func() { <-arrive; do() })
	}})
	write(t, h.path("f"), "text\n")
	_, _, _ = h.run("sync", h.mnt)
	<-p.over

	p = h.start()
	require.NoError(t, os.Rename(h.path("f"), h.path("g")))
	assert.Zero(t, p.stop())
	assert.Equal(t, map[string]string{"/g": "text\n"}, h.texts())
	p = h.start()
	close(arrive)
	h.server.late.Wait()
	h.sync()
	assert.Equal(t, map[string]string{"/g": "text\n"}, h.texts())
	assert.NoFileExists(t, h.path("f"))
	assert.Zero(t, p.stop())
}
