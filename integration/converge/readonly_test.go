//go:build linux

package converge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"memfs/integration/mounttest"
	"memfs/integration/workload"
	"memfs/store"
	"memfs/store/local"
)

// A read-only store is edited here, and changed there, as much as any. What
// counts is what goes over the wire.
func TestR10_AReadOnlyStoreGetsNoChangingRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, local.Options{})
	files := map[string]string{"/untouched.md": "as it was"}
	for _, name := range []string{"a.md", "b.md", "x/a.md", "x/y/c.md", "z/a.md"} {
		for k := range pairs {
			files[fmt.Sprintf("/pair%d/%s", k, name)] = "from the store\n"
		}
	}
	m := s.mount(mounttest.Options{Interval: time.Second, ReadOnly: true, Files: files})
	require.NotEmpty(t, changes(s.asked()), "requests are counted: the store was made")

	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var group errgroup.Group
	var editors []*workload.Editor
	for k := range pairs {
		e := workload.NewEditor(fmt.Sprint("editor ", k), m.At(fmt.Sprint("pair", k)), *seed+uint64(k))
		editors = append(editors, e)
		group.Go(func() error { return e.Run(ctx) })
	}
	group.Go(func() error { return s.change(ctx, rand.New(rand.NewPCG(*seed, 1))) })
	require.NoError(t, group.Wait())
	untouched := s.memories()["/untouched.md"]
	news := []byte("changed in the store")
	_, err := s.client().Update(t.Context(), untouched.ID, store.Update{Content: &news, Expect: untouched.SHA})
	require.NoError(t, err)
	m.Sync()
	assert.Equal(t, string(news), m.tree()["/untouched.md"], "changes come in")
	result := m.Stop()
	assert.Empty(t, result.Unsent, "nothing was to be sent")

	asked := s.asked()
	assert.Empty(t, changes(asked), "seed %d", *seed)
	assert.Greater(t, len(asked), 10, "there were passes")
	for path, text := range s.texts() {
		assert.NotContains(t, text, "wrote this", path)
	}
	lines := 0
	for _, e := range editors {
		lines += e.Written()
	}
	assert.Greater(t, lines, 50, "there were edits")
}

// change changes the store under the editors' names until ctx ends.
func (s *server) change(ctx context.Context, r *rand.Rand) error {
	client := s.client()
	for n := 0; ; n++ {
		all := s.memories()
		var paths []string
		for path := range all {
			if strings.HasPrefix(path, "/pair") {
				paths = append(paths, path)
			}
		}
		text := fmt.Appendf(nil, "number %d from the store\n", n)
		to := fmt.Sprintf("/pair%d/%s", r.IntN(pairs), workload.Names[r.IntN(len(workload.Names))])
		var err error
		switch pick := r.IntN(10); {
		case pick < 2 || len(paths) < 5:
			_, err = client.Create(ctx, to, text)
		case pick < 7:
			m := all[paths[r.IntN(len(paths))]]
			_, err = client.Update(ctx, m.ID, store.Update{Content: &text, Expect: m.SHA})
		case pick < 9:
			m := all[paths[r.IntN(len(paths))]]
			_, err = client.Update(ctx, m.ID, store.Update{Path: &to, Expect: m.SHA})
		default:
			m := all[paths[r.IntN(len(paths))]]
			err = client.Delete(ctx, m.ID, m.SHA)
		}
		var taken *store.PathConflictError
		if err != nil && !errors.As(err, &taken) && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}
