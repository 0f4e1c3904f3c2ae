package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/fs"
)

// Each waits until all are asked, as the mounts of a hung process do for ever.
func TestMountsAreAskedAtOnce(t *testing.T) {
	mounts := []fs.MountInfo{{Path: "/a"}, {Path: "/b"}, {Path: "/c"}}
	asked, all := make(chan struct{}, len(mounts)), make(chan struct{})
	done := make(chan []mountView)
	go func() {
		done <- askAll(mounts, func(m fs.MountInfo) mountView {
			asked <- struct{}{}
			<-all
			return mountView{Mount: m.Path}
		})
	}()
	for i := range mounts {
		select {
		case <-asked:
		case <-time.After(time.Minute):
			require.FailNow(t, "one mount waits for another", "%d of %d asked", i, len(mounts))
		}
	}
	close(all)
	assert.Equal(t, []mountView{{Mount: "/a"}, {Mount: "/b"}, {Mount: "/c"}}, <-done)
}
