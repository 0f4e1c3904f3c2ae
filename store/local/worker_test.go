package local

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/require"
)

// rehearsal is a server with the official SDK's worker, whose own memory sync
// is on.
type rehearsal struct {
	*Server
	client anthropic.Client
	mounts string
	// stop ends the worker and waits for it.
	stop func()
}

func rehearse(t *testing.T, ttl time.Duration, o environments.EnvironmentWorkerOptions) *rehearsal {
	t.Helper()
	r := &rehearsal{mounts: filepath.Join(t.TempDir(), "mnt")}
	r.Server = open(t, t.TempDir(), Options{MountRoot: r.mounts, LeaseTTL: ttl})
	web := httptest.NewServer(r.Handler())
	t.Cleanup(web.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r.client = anthropic.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey(anAPIKey),
		option.WithHTTPClient(&http.Client{Transport: transport}))

	o.EnvironmentID, o.EnvironmentKey = DefaultEnvironment, r.EnvironmentKey()
	o.Workdir = t.TempDir()
	worker := environments.NewEnvironmentWorker(r.client, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	r.stop = func() {
		cancel()
		err, ok := <-ended
		if ok {
			require.NoError(t, err)
			close(ended)
		}
	}
	t.Cleanup(r.stop)
	return r
}

func (r *rehearsal) create(t *testing.T, st, path, content string) {
	t.Helper()
	_, err := r.client.Beta.MemoryStores.Memories.New(t.Context(), st,
		anthropic.BetaMemoryStoreMemoryNewParams{Path: path, Content: anthropic.String(content)})
	require.NoError(t, err)
}

func (r *rehearsal) contents(t *testing.T, st string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	pages := r.client.Beta.MemoryStores.Memories.ListAutoPaging(t.Context(), st,
		anthropic.BetaMemoryStoreMemoryListParams{View: anthropic.BetaManagedAgentsMemoryViewFull})
	for pages.Next() {
		all[pages.Current().Path] = pages.Current().Content
	}
	require.NoError(t, pages.Err())
	return all
}

// The official worker serves a scripted session that was made through the
// official client, from its poll to its stop.
func TestOfficialWorkerServesAScript(t *testing.T) {
	r := rehearse(t, 0, environments.EnvironmentWorkerOptions{})
	notes, rules := storeID(t, r.Server, "Notes"), storeID(t, r.Server, "Rules")
	r.create(t, notes, "/todo.md", "buy milk\n")
	r.create(t, notes, "/old.md", "old\n")
	r.create(t, rules, "/rule.md", "be kind\n")
	todo, rule := filepath.Join(r.mounts, "notes/todo.md"), filepath.Join(r.mounts, "rules/rule.md")

	session, err := r.client.Beta.Sessions.New(t.Context(), anthropic.BetaSessionNewParams{
		Agent: anthropic.BetaSessionNewParamsAgentUnion{OfString: anthropic.String("agent_1")}, EnvironmentID: DefaultEnvironment,
		Resources: []anthropic.BetaSessionNewParamsResourceUnion{
			{OfMemoryStore: &anthropic.BetaManagedAgentsMemoryStoreResourceParam{MemoryStoreID: notes}},
			{OfMemoryStore: &anthropic.BetaManagedAgentsMemoryStoreResourceParam{
				MemoryStoreID: rules, Access: anthropic.BetaManagedAgentsMemoryStoreResourceParamAccessReadOnly,
			}},
		},
	}, option.WithJSONSet("memfs_script", Script{Calls: []ToolCall{
		{"read", object{"file_path": todo}},
		{"edit", object{"file_path": todo, "old_string": "milk", "new_string": "bread"}},
		{"write", object{"file_path": rule, "content": "be rude\n"}},
		{"bash", object{"command": "cd " + r.mounts + "/notes && echo new > new.md && rm old.md && cat todo.md"}},
	}}))
	require.NoError(t, err)
	x, err := r.Session(session.ID)
	require.NoError(t, err)
	require.NoError(t, x.WaitWork(t.Context(), stopped))

	answers := x.Answers()
	require.Len(t, answers, 4)
	require.Equal(t, "buy milk\n", answers[0].Text)
	require.False(t, answers[1].Error, answers[1].Text)
	require.True(t, answers[2].Error)
	require.Contains(t, answers[2].Text, "read-only")
	require.Equal(t, "buy bread", strings.TrimSpace(answers[3].Text))
	require.Equal(t, map[string]string{"/todo.md": "buy bread\n", "/new.md": "new\n"}, r.contents(t, notes))
	require.Equal(t, map[string]string{"/rule.md": "be kind\n"}, r.contents(t, rules))

	edits := ask(t, r.Server, "GET", "/v1/memory_stores/"+notes+"/memory_versions?session_id="+x.ID(), "").ok(t)
	require.Len(t, edits.object.Data, 3, "the worker writes as the session")
	require.NoDirExists(t, filepath.Join(r.mounts, "notes"))
	r.stop()
}

// Every failure of a session leaves the item stopped and the call waiting.
func TestOfficialWorkerFailsAnAttach(t *testing.T) {
	r := rehearse(t, 0, environments.EnvironmentWorkerOptions{})
	require.NoError(t, os.MkdirAll(filepath.Join(r.mounts, "taken"), 0o700))
	x, err := r.StartSession(t.Context(), SessionSpec{
		Stores: []Attachment{{Store: storeID(t, r.Server, "taken")}}, Script: Script{Calls: []ToolCall{{"bash", object{"command": "true"}}}},
	})
	require.NoError(t, err)
	require.NoError(t, x.WaitWork(t.Context(), stopped))
	require.Empty(t, x.Answers())
	require.False(t, x.ended())

	require.NoError(t, os.Remove(filepath.Join(r.mounts, "taken")))
	say(t, r.Server, x, object{"type": "user.message", "content": []object{}}).ok(t)
	require.NoError(t, x.Wait(t.Context()), "mended, and served when spoken to")
	require.Equal(t, "(no output)", x.Answers()[0].Text)
	require.NoError(t, x.WaitWork(t.Context(), stopped))
}

// A worker that lost its lease lets go of the item without stopping it, and the
// queue offers it again.
func TestOfficialWorkerLosesItsLease(t *testing.T) {
	r := rehearse(t, 2*time.Second, environments.EnvironmentWorkerOptions{})
	x := startSession(t, r.Server)
	require.NoError(t, x.WaitWork(t.Context(), active))
	started := make(chan error, 1)
	go func() {
		_, err := x.Call(t.Context(), ToolCall{"bash", object{"command": "sleep 1000"}})
		started <- err
	}()
	x.LoseLease()
	require.NoError(t, x.WaitWork(t.Context(), active), "claimed again")
	x.StopWork(false)
	require.NoError(t, x.WaitWork(t.Context(), stopped), "the worker obeys")
	x.archive()
	err := <-started
	require.True(t, err == nil || errors.Is(err, ErrEnded), err)
}
