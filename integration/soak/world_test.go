//go:build linux

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/benchchild"
	"memfs/integration/mounttest"
	"memfs/integration/smalldisk"
	"memfs/integration/workload"
	"memfs/store"
)

// world is everything there is.
type world struct {
	t    *testing.T
	dir  string
	seed uint64

	server    *server
	prober    *benchchild.Child
	stores    []*remote
	processes []*process
	disk      *disk // nil where none can be made
	stalls    *stalls
	// connections is what the kernel says of mounts; "" where it does not.
	connections string

	ctx    context.Context // ends with the agents
	cancel context.CancelFunc
	agents sync.WaitGroup
	// quiet is held by whoever wants everybody to stand still; each step of an
	// agent holds it for reading.
	quiet sync.RWMutex
	// calm: there are no faults.
	calm atomic.Bool
	// lacked is until when listings lacked something, in nanoseconds since 1970.
	lacked atomic.Int64
	base   map[*process]usage // after the first round
}

// remote is a store, as it is at the server.
type remote struct {
	id     string
	client store.Client // past the proxy
	mounts []*mount
	writer *writer // somebody else at the API; nil where two mounts write
}

// mount is a store that a process serves.
type mount struct {
	*process
	n       int
	path    string
	store   *remote
	workers []*agent
	editors []*workload.Editor
}

// layout says which process serves which stores, and how.
var layout = []struct {
	host   string
	stores []int
	args   []string
	steady bool // never killed or stopped
}{
	{host: "h0", stores: []int{0}}, // two processes with one state directory
	{host: "h0", stores: []int{0}},
	{host: "h1", stores: []int{1}, args: []string{"--hydrate", "off", "--sync-interval", "2"}},
	{host: "h2", stores: []int{1}, steady: true},
	{host: "small", stores: []int{2}},
	{host: "h3", stores: []int{2}, args: []string{"--keep-cache"}},
	{host: "h4", stores: []int{3, 4}, args: []string{"--sync-interval", "3"}}, // one process with two mounts
}

const bystanders = 80

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("this host cannot mount: ", err)
	} else {
		require.NoError(t, f.Close())
	}
	w := &world{t: t, seed: seed, stalls: newStalls(), base: map[*process]usage{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.directory()
	w.connections, _ = mounttest.Connections(t)
	w.server = startServer(t, serverConfig{Dir: w.dir, Seed: seed})
	for i := range 5 {
		info, err := w.server.direct.CreateStore(w.ctx, fmt.Sprint("store", i), "")
		require.NoError(t, err)
		r := &remote{id: info.ID, client: w.server.direct.Store(info.ID)}
		for k := range bystanders {
			_, err := r.client.Create(w.ctx, fmt.Sprintf("/bystanders/%d/%d.md", k%7, k), []byte(fmt.Sprint("nobody edits this: ", k)))
			require.NoError(t, err)
		}
		w.stores = append(w.stores, r)
	}
	if os.Geteuid() == 0 {
		w.disk = &disk{dir: filepath.Join(w.dir, "small")}
		smalldisk.Mount(t, w.disk.dir, "24m")
	}
	n := 0
	for i, l := range layout {
		p := &process{w: w, n: i, state: filepath.Join(w.dir, l.host, "s"), args: l.args, steady: l.steady, shared: l.host == "h0"}
		p.small = l.host == "small" && w.disk != nil
		for _, s := range l.stores {
			m := &mount{process: p, n: n, path: filepath.Join(w.dir, fmt.Sprint("m", n)), store: w.stores[s]}
			p.mounts, w.stores[s].mounts = append(p.mounts, m), append(w.stores[s].mounts, m)
			n++
		}
		w.processes = append(w.processes, p)
	}
	for i, r := range w.stores {
		if len(r.mounts) == 1 {
			r.writer = newWriter(r, seed+uint64(100+i))
		}
	}
	return w
}

// directory makes the directory that everything is in; its path is short, for
// the control sockets.
func (w *world) directory() {
	if *soakKeep != "" {
		require.NoError(w.t, os.MkdirAll(*soakKeep, 0o700))
		w.dir = *soakKeep
		return
	}
	var err error
	w.dir, err = os.MkdirTemp("", "soak")
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, os.RemoveAll(w.dir)) })
}

// mounts are all mounts.
func (w *world) mounts() []*mount {
	var all []*mount
	for _, r := range w.stores {
		all = append(all, r.mounts...)
	}
	return all
}

// random is a source for one of the actors.
func (w *world) random(actor int) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed, uint64(1000+actor)))
}
