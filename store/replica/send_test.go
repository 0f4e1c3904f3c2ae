package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A request of a killed process may arrive after the store was looked at: it is
// remembered for 10 minutes from then; one of this process whose answer was lost
// for 2.
func TestR16_SendOfAKilledProcessIsRememberedForAWhile(t *testing.T) {
	w := newWorld(t)
	w.write("/a", "text")
	send := func() uint64 {
		f := w.Snapshot(nil, nil).Files[0]
		seq, err := w.BeginSend(Send{Op: OpCreate, Path: f.Path, SHA: f.SHA, Ino: f.Ino})
		require.NoError(t, err)
		return seq
	}
	require.NoError(t, w.Settle(send(), nil))
	assert.Empty(t, w.Snapshot(nil, nil).Sends, "what was answered is certain")

	assert.False(t, w.Awaiting())
	old := send()
	w.kill()
	assert.True(t, w.Awaiting())
	own := send()
	w.clock.advance(time.Hour) // before anybody looked at the store
	require.NoError(t, w.Missing(old))
	require.NoError(t, w.Missing(own))
	assert.Len(t, w.Snapshot(nil, nil).Sends, 2)
	w.clock.advance(lateOwn + time.Minute)
	require.NoError(t, w.Missing(own))
	w.clock.advance(lateFor - lateOwn - 2*time.Minute)
	require.NoError(t, w.Missing(old))
	sends := w.Snapshot(nil, nil).Sends
	require.Len(t, sends, 1)
	assert.False(t, w.Awaiting(), "sent over an hour ago")
	assert.Equal(t, old, sends[0].Seq)

	w.clock.advance(2 * time.Minute)
	require.NoError(t, w.Missing(old))
	assert.Empty(t, w.Snapshot(nil, nil).Sends)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func TestR16_SendOfAKilledProcessSettlesWhenItArrives(t *testing.T) {
	w := newWorld(t)
	w.write("/a", "text")
	f := w.Snapshot(nil, nil).Files[0]
	seq, err := w.BeginSend(Send{Op: OpCreate, Path: f.Path, SHA: f.SHA, Ino: f.Ino})
	require.NoError(t, err)
	w.kill()
	require.NoError(t, w.Missing(seq))
	w.mv("/a", "/b")
	b := Base{ID: "m", Path: "/a", SHA: f.SHA, Size: f.Size}
	require.NoError(t, w.Settle(seq, &Apply{ID: b.ID, Base: &b, Ino: f.Ino}))
	s := w.Snapshot(nil, nil)
	assert.Empty(t, s.Sends)
	require.Len(t, s.Memories, 1)
	require.NotNil(t, s.Memories[0].Carrier, "renamed here since")
	assert.Equal(t, "/b", s.Memories[0].Carrier.Path)
}
