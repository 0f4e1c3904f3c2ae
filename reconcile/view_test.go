package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"memfs/store"
)

// R12, R14: a path with half a million names, which a store can list, is counted
// as one that cannot be shown and holds up nothing.
func TestR14_APathWithoutEndHoldsUpNothing(t *testing.T) {
	view := NewView()
	began := time.Now()
	endless := store.Memory{ID: "mem_1", VersionID: "memver_1", Path: strings.Repeat("/n", 1<<19)}
	assert.True(t, view.Put(endless, store.Memory{ID: "mem_2", VersionID: "memver_2", Path: "/n"}))
	assert.Equal(t, 1, view.Hidden())
	view.Gone(endless.ID)
	assert.Zero(t, view.Hidden())
	assert.Less(t, time.Since(began), 10*time.Second, "a hang")
}

// R12: a path that is a little too long to be shown can be in the way all the
// same.
func TestR12_APathThatIsTooLongIsInTheWay(t *testing.T) {
	view := NewView()
	long := store.Memory{ID: "mem_1", VersionID: "memver_1", Path: "/n" + strings.Repeat("/long", store.MaxPath/5)}
	assert.True(t, view.Put(long))
	assert.False(t, view.Put(store.Memory{ID: "mem_2", VersionID: "memver_2", Path: "/n"}))
	assert.Equal(t, 1, view.Hidden())
}
