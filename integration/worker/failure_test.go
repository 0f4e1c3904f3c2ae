package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// refused has a worker fail to serve a session: its item is stopped, nothing of
// its agent was run, and the log says what failed, in the official worker's
// words, and what becomes of the session.
func (h *host) refused(x *local.Session, args []string, words ...string) {
	h.t.Helper()
	w := h.poll(args...)
	h.stopped(x)
	assert.Empty(h.t, x.Answers())
	assert.Equal(h.t, 0, w.end())
	w.says(append([]string{"ERROR", `"code"`, `"remedy"`}, words...)...)
	w.says("WARN", "sit idle", "user.interrupt", "session_idle")
	assert.Len(h.t, h.wire.seen("POST", "/stop"), 1)
}

func ptr[T any](v T) *T { return &v }

func TestSecretWithoutToken(t *testing.T) {
	for name, secret := range map[string]string{"none": "", "no base64": "?", "no JSON": "bm9uZQ", "no token": "e30="} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, local.Options{})
			x := h.start(local.SessionSpec{
				Stores: []local.Attachment{h.store("notes", nil)}, Script: local.Script{Calls: []local.ToolCall{bash("true")}},
				Faults: local.Faults{Secret: &secret},
			})
			h.refused(x, nil, "memory stores cannot be mounted", "the work item carried no sessions token", "no_sessions_token")
			assert.Empty(t, h.wire.seen("GET", "/memories"))
		})
	}
}

// Without stores, the environment key does for everything.
func TestEnvironmentKeyServesSessionsWithoutStores(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.start(local.SessionSpec{Script: local.Script{Calls: []local.ToolCall{bash("echo served")}}, Faults: local.Faults{Secret: ptr("")}})
	w := h.poll()
	h.stopped(x)
	assert.Equal(t, []string{"served"}, texts(x))
	assert.Equal(t, 0, w.end())
}

func TestMemoryOff(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.start(local.SessionSpec{
		Stores: []local.Attachment{h.store("notes", nil)}, Script: local.Script{Calls: []local.ToolCall{bash("ls -d " + h.at("notes") + " || echo none")}},
		Faults: local.Faults{Secret: ptr("")},
	})
	w := h.poll("--memory=off")
	h.stopped(x)
	assert.Contains(t, texts(x)[0], "none")
	assert.Equal(t, 0, w.end())
	assert.Empty(t, h.wire.seen("GET", "/memories"))
}

// R1: what stands at a mount path is left alone, and what was attached already
// is taken back. Once that is mended, an interrupt has the session served.
func TestR1_TakenMountPath(t *testing.T) {
	h := newHost(t, local.Options{})
	x := h.session([]local.Attachment{h.store("first", nil), h.store("taken", nil)}, bash("echo served"), bash("ls -A "+h.at("taken")))
	theirs := h.at("taken", "theirs.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(theirs), 0o755))
	require.NoError(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	h.refused(x, nil, "memory store download failed", "something already exists at the memory store's path: "+h.at("taken"), "must not exist when the session starts",
		"path_taken", `"path": "`+h.at("taken")+`"`)
	text, err := os.ReadFile(theirs)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(text))
	assert.NoDirExists(t, h.at("first"))

	require.NoError(t, os.RemoveAll(h.mounts))
	h.interrupt(x)
	w := h.poll()
	h.stopped(x)
	assert.Equal(t, ".anthropic-memory-store", texts(x)[1], "the first call was interrupted")
	assert.Equal(t, 0, w.end())
}

func TestFolderThatCannotBeCreated(t *testing.T) {
	h := newHost(t, local.Options{})
	at := h.store("notes", nil)
	require.NoError(t, os.WriteFile(h.path("file"), nil, 0o600))
	at.MountPath = ptr(h.path("file", "notes"))
	h.refused(h.session([]local.Attachment{at}, bash("true")), nil, "memory store download failed",
		"cannot create the memory store's folder: "+h.path("file", "notes"), "must make this mount path writable", "path_not_writable")
}

func TestMountPathThatLeadsUpwards(t *testing.T) {
	for name, path := range map[string]string{"relative": "notes", "upwards": "/mnt/../notes"} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, local.Options{})
			at := h.store("notes", nil)
			at.MountPath = &path
			h.refused(h.session([]local.Attachment{at}, bash("true")), nil, "memory store download failed", "not a clean absolute path")
		})
	}
}

func TestR1_TwoStoresAtOnePath(t *testing.T) {
	h := newHost(t, local.Options{})
	h.refused(h.session([]local.Attachment{h.store("Notes", nil), h.store("notes", nil)}, bash("true")), nil,
		"memory store download failed", "would both be mounted at")
}

// A session that names no path has its store below the working directory.
func TestNoMountPath(t *testing.T) {
	h := newHost(t, local.Options{})
	at := h.store("My/Notes", map[string]string{"/a.md": "a"})
	at.MountPath = ptr("")
	x := h.session([]local.Attachment{at}, read("memory/my-notes/a.md"))
	w := h.poll()
	h.stopped(x)
	assert.Equal(t, []string{"a"}, texts(x))
	assert.Equal(t, 0, w.end())
	w.says("INFO", "memory store attached", "attached", h.path("work", "memory", "my-notes"))
	w.says("INFO", "dispatched tool", "tool_done", `"tool": "read"`)
	assert.NoDirExists(t, h.path("work", "memory"))
}

// R18: without isolation, a store that one session has is refused to the next.
func TestR18_SameStoreTwice(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	w := h.poll("--max-sessions", "2")
	first := h.open(notes)
	h.do(first, bash("echo first > "+h.at("notes", "a.md")))
	second := h.session([]local.Attachment{notes}, bash("echo second"))
	h.stopped(second)
	assert.Empty(t, second.Answers())
	w.eventually("ERROR", "memory store download failed", "something already exists at the memory store's path: "+h.at("notes"), "path_mounted", "--isolate")
	assert.Equal(t, "first", h.do(first, bash("cat "+h.at("notes", "a.md"))))
	h.finish(first)
	assert.Equal(t, 0, w.end())
	assert.Equal(t, map[string]string{"/a.md": "first\n"}, h.contents(notes))
}

func TestOnlyStopped(t *testing.T) {
	for name, spec := range map[string]local.SessionSpec{
		"terminated session": {},
		"health check":       {Script: local.Script{Calls: []local.ToolCall{bash("true")}}, Faults: local.Faults{WorkType: "healthcheck"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, local.Options{})
			spec.Stores = []local.Attachment{h.store("notes", nil)}
			x := h.start(spec)
			w := h.poll()
			h.stopped(x)
			assert.Equal(t, 0, w.end())
			assert.Empty(t, x.Answers())
			assert.Empty(t, h.wire.seen("GET", "/memories"))
			assert.Len(t, h.wire.seen("POST", "/stop"), 1)
			assert.Equal(t, name == "terminated session", w.log.has("INFO", "skipping the work item of a terminated session", "session_terminated"))
		})
	}
}
