package replica

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

// TestR14_AStuckFetchIsWaitedForOnce: the kernel asks twice for one read.
func TestR14_AStuckFetchIsWaitedForOnce(t *testing.T) {
	asked := 0
	w := newWorld(t, func(o *Options) {
		o.FetchTimeout = 50 * time.Millisecond
		o.Fetch = func(ctx context.Context, _, _ string, _ store.SHA) ([]byte, error) {
			asked++
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	w.base("m", "/a", "text")
	ino := w.ino("/a")
	for range 2 {
		_, err := w.Read(context.Background(), ino, make([]byte, 10), 0)
		require.ErrorIs(t, err, ErrNotFetched)
	}
	assert.Equal(t, 1, asked)
}
