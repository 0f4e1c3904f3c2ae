package worker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/fs"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// host is a machine with a worker on it, and the API that the worker uses.
type host struct {
	*local.Server
	t   *testing.T
	dir string // everything is in it
	url string
	api *claude.API
	// wire sees every request.
	wire *wire
	// mounts is the parent of mount paths.
	mounts string
}

func newHost(t *testing.T, o local.Options) *host {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("this host cannot mount: ", err)
	}
	dir, err := os.MkdirTemp("", "w")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755), "so that other users get as far as the mounts")
	h := &host{t: t, dir: dir, mounts: filepath.Join(dir, "mnt")}
	require.NoError(t, os.Mkdir(h.path("work"), 0o755))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(h.path("work"), nobody, nobody), "who runs the tools then")
	}
	o.MountRoot = h.mounts
	h.Server, err = local.Open(h.path("stores"), o)
	require.NoError(t, err)
	h.wire = &wire{next: h.Handler()}
	web := httptest.NewServer(h.wire)
	h.url = web.URL
	h.api, err = claude.New(claude.Config{BaseURL: h.url, Credential: "an API key", HTTPClient: &http.Client{Transport: &http.Transport{}}})
	require.NoError(t, err)
	t.Cleanup(func() {
		h.nothingLeft()
		h.api.Close()
		h.EndStreams()
		web.Close()
		assert.NoError(t, h.Close())
		assert.NoError(t, os.RemoveAll(dir))
	})
	return h
}

func (h *host) path(elem ...string) string { return filepath.Join(append([]string{h.dir}, elem...)...) }

// at is a path in a mount.
func (h *host) at(elem ...string) string {
	return filepath.Join(append([]string{h.mounts}, elem...)...)
}

// within bounds what a test waits for.
func (h *host) within() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	h.t.Cleanup(cancel)
	return ctx
}

// store makes a store with memories.
func (h *host) store(name string, files map[string]string) local.Attachment {
	h.t.Helper()
	info, err := h.api.CreateStore(h.t.Context(), name, "")
	require.NoError(h.t, err)
	for path, text := range files {
		h.put(info.ID, path, text)
	}
	return local.Attachment{Store: info.ID}
}

func (h *host) put(id, path, text string) {
	h.t.Helper()
	_, err := h.api.Store(id).Create(h.t.Context(), path, []byte(text))
	require.NoError(h.t, err, path)
}

// change gives the memory at path another text, as somebody else.
func (h *host) change(at local.Attachment, path, text string) {
	h.t.Helper()
	page, err := h.api.Store(at.Store).List(h.t.Context(), store.ListQuery{})
	require.NoError(h.t, err)
	i := slices.IndexFunc(page.Memories, func(m store.Memory) bool { return m.Path == path })
	require.GreaterOrEqual(h.t, i, 0, path)
	_, err = h.api.Store(at.Store).Update(h.t.Context(), page.Memories[i].ID, store.Update{Content: ptr([]byte(text)), Expect: page.Memories[i].SHA})
	require.NoError(h.t, err)
}

// contents are what a store holds.
func (h *host) contents(at local.Attachment) map[string]string {
	h.t.Helper()
	texts := make(map[string]string)
	for query := (store.ListQuery{Full: true}); ; {
		page, err := h.api.Store(at.Store).List(h.t.Context(), query)
		require.NoError(h.t, err)
		for _, memory := range page.Memories {
			texts[memory.Path] = string(memory.Content)
		}
		if page.Next == "" {
			return texts
		}
		query.Page = page.Next
	}
}

// history are the texts that a store's only memory had, which was at path all
// the time, oldest first.
func (h *host) history(at local.Attachment, path string) []string {
	h.t.Helper()
	page, err := h.api.Store(at.Store).Versions(h.t.Context(), store.VersionQuery{Limit: 100})
	require.NoError(h.t, err)
	require.Empty(h.t, page.Next)
	var texts []string
	for _, v := range slices.Backward(page.Versions) {
		require.Equal(h.t, page.Versions[0].MemoryID, v.MemoryID)
		require.Equal(h.t, path, v.Path)
		full, err := h.api.Store(at.Store).Version(h.t.Context(), v.ID)
		require.NoError(h.t, err)
		texts = append(texts, string(full.Content))
	}
	return texts
}

// session starts a session whose agent makes calls and then ends it.
func (h *host) session(stores []local.Attachment, calls ...local.ToolCall) *local.Session {
	h.t.Helper()
	return h.start(local.SessionSpec{Stores: stores, Script: local.Script{Calls: calls}})
}

// open starts a session that waits for Call and End.
func (h *host) open(stores ...local.Attachment) *local.Session {
	h.t.Helper()
	return h.start(local.SessionSpec{Stores: stores, Script: local.Script{End: local.EndOpen}})
}

func (h *host) start(spec local.SessionSpec) *local.Session {
	h.t.Helper()
	x, err := h.StartSession(h.t.Context(), spec)
	require.NoError(h.t, err)
	return x
}

// do makes a tool call, which has to succeed.
func (h *host) do(x *local.Session, c local.ToolCall) string {
	h.t.Helper()
	a, err := x.Call(h.within(), c)
	require.NoError(h.t, err)
	require.False(h.t, a.Error, a.Text)
	return strings.TrimSpace(a.Text)
}

// finish ends an open session and waits until its worker is done with it.
func (h *host) finish(x *local.Session) {
	h.t.Helper()
	require.NoError(h.t, x.End(local.EndTerminated))
	h.stopped(x)
}

// stopped waits until nobody serves the session any more.
func (h *host) stopped(x *local.Session) {
	h.t.Helper()
	require.NoError(h.t, x.WaitWork(h.within(), "stopped"), "the work item was not stopped")
}

// interrupt sends the session a user.interrupt, which queues it again.
func (h *host) interrupt(x *local.Session) {
	h.t.Helper()
	body := strings.NewReader(`{"events":[{"type":"user.interrupt"}]}`)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/v1/sessions/"+x.ID()+"/events", body)
	require.NoError(h.t, err)
	req.Header.Set("x-api-key", "an API key")
	req.Header.Set("anthropic-beta", "managed-agents-2026-04-01")
	req.Header.Set("Content-Type", "application/json")
	res, err := new(http.Client).Do(req)
	require.NoError(h.t, err)
	require.NoError(h.t, res.Body.Close())
	require.Equal(h.t, http.StatusOK, res.StatusCode)
}

// texts are the answers of a session, with errors marked.
func texts(x *local.Session) []string {
	var all []string
	for _, a := range x.Answers() {
		text := strings.TrimSpace(a.Text)
		if a.Error {
			text = "error: " + text
		}
		all = append(all, text)
	}
	return all
}

func bash(command string) local.ToolCall {
	return local.ToolCall{Name: "bash", Input: map[string]any{"command": command}}
}

func read(path string) local.ToolCall {
	return local.ToolCall{Name: "read", Input: map[string]any{"file_path": path}}
}

func write(path, text string) local.ToolCall {
	return local.ToolCall{Name: "write", Input: map[string]any{"file_path": path, "content": text}}
}

func edit(path, old, text string) local.ToolCall {
	return local.ToolCall{Name: "edit", Input: map[string]any{"file_path": path, "old_string": old, "new_string": text}}
}

// nothingMounted fails the test for a mount that a worker left.
func (h *host) nothingMounted() {
	h.t.Helper()
	mounts, err := fs.Mounts()
	assert.NoError(h.t, err)
	for _, m := range mounts {
		if strings.HasPrefix(m.Path, h.dir+"/") {
			assert.Fail(h.t, "a mount was left", m.Path)
			assert.NoError(h.t, fs.Detach(m.Path))
		}
	}
}

// nothingLeft fails the test for anything that a worker left.
func (h *host) nothingLeft() {
	h.t.Helper()
	h.nothingMounted()
	assert.NoDirExists(h.t, h.mounts, "directories of mounts were left")
	assert.Empty(h.t, processes(), "processes were left")
}

// stateFiles are the files in the state directory.
func (h *host) stateFiles() []string {
	h.t.Helper()
	var files []string
	require.NoError(h.t, filepath.WalkDir(h.path("state"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}
