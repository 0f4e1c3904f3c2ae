//go:build linux

package converge

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
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

var (
	editFor = flag.Duration("converge.for", 20*time.Second, "how long two mounts are edited")
	seed    = flag.Uint64("converge.seed", rand.Uint64(), "what the editors do; random where it is not given")
)

// pairs is how many directories have an editor on each mount.
const pairs = 3

// Two mounts of one store are edited at the same time, and then left alone.
func TestTwoMountsConverge(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", *seed)
	s := newServer(t, local.Options{})
	left := s.mount(mounttest.Options{Interval: time.Second, Files: bystanders()})
	right := s.mount(mounttest.Options{Interval: time.Second})
	mounts := []*mount{left, right}

	var editors []*workload.Editor
	ctx, cancel := context.WithTimeout(t.Context(), *editFor)
	defer cancel()
	var group errgroup.Group
	for i, m := range mounts {
		for k := range pairs {
			e := workload.NewEditor(fmt.Sprintf("editor %d of mount %d", k, i), m.At(fmt.Sprint("pair", k)), *seed+uint64(i*pairs+k))
			editors = append(editors, e)
			group.Go(func() error { return e.Run(ctx) })
		}
	}
	require.NoError(t, group.Wait())

	settle(t, mounts)
	inStore := left.Texts()
	for _, m := range mounts {
		assert.Equal(t, inStore, m.tree(), m.Path)
		status := m.Status()
		assert.Zero(t, status.Dirty+status.Held+status.Refused+status.Deleted, "%+v", status)
	}
	texts := kept(t, mounts)
	for _, e := range editors {
		t.Log(e)
		for line, name := range e.Alive() {
			if !strings.Contains(texts, line) {
				assert.Fail(t, "lost", "%s, to %s: it is nowhere", strings.TrimSpace(line), name)
			}
		}
	}
}

// bystanders are memories that nobody edits: enough of them that all the
// deletes of a run are no mass delete.
func bystanders() map[string]string {
	files := map[string]string{}
	for i := range 20 * int(editFor.Seconds()) {
		files[fmt.Sprintf("/bystanders/%02d/%d.md", i%50, i)] = fmt.Sprint("nobody edits this: ", i)
	}
	return files
}

// settle syncs until no side has anything for the other.
func settle(t *testing.T, mounts []*mount) {
	t.Helper()
	const rounds = 8
	for range rounds {
		moved := 0
		for _, m := range mounts {
			r := m.Sync()
			moved += r.Pushed + r.Deleted + r.Pulled + r.Conflicts + len(r.Unsent)
		}
		if moved == 0 {
			return
		}
	}
	for _, m := range mounts {
		assert.Failf(t, "not settled", "%s: %+v", path.Base(path.Dir(m.Path)), m.Sync())
	}
}

// kept is every text that is or was in the store or lost a conflict.
func kept(t *testing.T, mounts []*mount) string {
	t.Helper()
	var all strings.Builder
	for query := (store.VersionQuery{Full: true}); ; {
		page, err := mounts[0].Remote.Versions(t.Context(), query)
		require.NoError(t, err)
		for _, v := range page.Versions {
			all.Write(v.Content)
			all.WriteByte('\n')
		}
		if page.Next == "" {
			break
		}
		query.Page = page.Next
	}
	losers := 0
	for _, m := range mounts {
		for _, texts := range m.Losers() {
			for _, text := range texts {
				losers++
				all.WriteString(text)
				all.WriteByte('\n')
			}
		}
	}
	t.Logf("%d texts lost a conflict", losers)
	return all.String()
}
