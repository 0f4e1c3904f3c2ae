package replica

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestR16_LeftoversAreListedWithTheirOwner(t *testing.T) {
	w := newWorld(t)
	w.write("/a", "unsent")
	found, err := Leftovers(w.o.Dir)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.True(t, found[0].Live)
	assert.Equal(t, os.Getpid(), found[0].PID)

	require.NoError(t, w.Close())
	found, err = Leftovers(w.o.Dir)
	require.NoError(t, err)
	require.Len(t, found, 1)
	l := found[0]
	assert.False(t, l.Live)
	assert.Equal(t, w.o.Store.ID, l.Store)
	assert.Equal(t, w.o.MountPath, l.MountPath)

	r, err := Open(l.Options(w.o.Dir))
	require.NoError(t, err)
	assert.Len(t, r.Snapshot(nil, nil).Files, 1)
	require.NoError(t, r.Remove())
	found, err = Leftovers(w.o.Dir)
	require.NoError(t, err)
	assert.Empty(t, found)
}
