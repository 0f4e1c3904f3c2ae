package reconcile

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
	"memfs/store/replica"
)

// TestOverTheAPI runs a day's work over the wire: the embedded store behind
// HTTP, through the client that the product uses, with two replicas of the same
// store that must agree in the end.
func TestOverTheAPI(t *testing.T) {
	defer goleak.VerifyNone(t)
	server, err := local.Open(filepath.Join(t.TempDir(), "store"), local.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	api, err := claude.New(claude.Config{BaseURL: web.URL, Credential: "key", HTTPClient: web.Client()})
	require.NoError(t, err)
	info, err := api.CreateStore(t.Context(), "notes", "")
	require.NoError(t, err)

	one, two := apiHost(t, api, info, "one"), apiHost(t, api, info, "two")
	for i := range 120 {
		one.write(fmt.Sprintf("/d%d/%d.md", i%5, i), fmt.Sprint("text ", i))
	}
	one.sync()
	two.sync()
	require.Equal(t, one.tree(), two.tree())
	require.Equal(t, 1, one.sync().Requests, "an idle pass")

	one.mv("/d0", "/moved")
	one.write("/d1/1.md", "edited by one")
	one.rm("/d2/2.md")
	one.write("/d2/2.md/now/a/directory", "below")
	two.write("/d1/6.md", "edited by two")
	two.write("/d0/0.md", "edited by two, renamed by one")
	one.sync()
	two.sync()
	one.sync()
	require.Equal(t, one.tree(), two.tree())
	require.Equal(t, "edited by two, renamed by one", one.read("/moved/0.md"))
	require.Equal(t, "below", two.read("/d2/2.md/now/a/directory"))
	require.Empty(t, append(one.losers(), two.losers()...))

	one.write("/d1/1.md", "one's")
	two.write("/d1/1.md", "two's")
	two.write("/moved/5.md", "two's as well")
	one.rm("/moved/5.md")
	one.sync()
	two.sync()
	one.sync()
	require.Equal(t, one.tree(), two.tree())
	require.Equal(t, "one's", two.read("/d1/1.md"))
	require.Equal(t, []string{"two's"}, two.losers())
	require.Equal(t, "two's as well", one.read("/moved/5.md"), "edited there, deleted here: made anew")
}

// apiHost is a replica of a store on a host of its own.
func apiHost(t *testing.T, api *claude.API, info store.Info, name string) *bench {
	rep, err := replica.Open(replica.Options{Dir: filepath.Join(t.TempDir(), "state"), Store: info, Endpoint: "test", MountPath: "/" + name,
		Fetch: Fetcher(api.Store(info.ID))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rep.Close()) })
	b := &bench{T: t, rep: rep, rec: New(rep, api.Store(info.ID), Options{})}
	require.NoError(t, b.rec.Attach(t.Context()))
	return b
}
