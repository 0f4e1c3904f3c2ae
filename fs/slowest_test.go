//go:build linux

package fs

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"

	"memfs/store/replica"
)

func TestSlowestKeepsFewOfAnHourAndForgets(t *testing.T) {
	f := newFilesystem(&fakeTree{linked: map[replica.Ino]bool{5: true}}, "memstore_1", zap.NewNop())
	var s Slowest
	start := time.Now().Add(-90 * time.Minute)
	took := func(at time.Duration, ms int) {
		s.slow(Operation{Name: fmt.Sprintf("op%d", ms), Took: time.Duration(ms) * time.Millisecond, f: f, node: 5, name: "a"}, start.Add(at))
	}
	names := func() (all []string) {
		for _, slow := range s.List() {
			all = append(all, slow.Op)
		}
		return all
	}
	s.Observe(Operation{Name: "fast", Took: slowFloor - 1, f: f, node: 5})
	assert.Empty(t, names())
	for _, ms := range []int{3, 9, 2, 7, 5, 4, 8, 1} {
		took(time.Minute, ms)
	}
	assert.Equal(t, []string{"op9", "op8", "op7", "op5", "op4"}, names())
	assert.Equal(t, "/dir/a", s.List()[0].Path)
	assert.InDelta(t, 0.009, s.List()[0].Seconds, 1e-9)

	took(70*time.Minute, 6) // the next period compares anew
	took(71*time.Minute, 2)
	assert.Equal(t, []string{"op9", "op8", "op7", "op6", "op5"}, names())
	for i := range slowestKept {
		took(72*time.Minute, 20+i)
	}
	assert.Equal(t, []string{"op24", "op23", "op22", "op21", "op20"}, names())

	took(5*time.Hour, 2) // what was before is long ago
	assert.Equal(t, []string{"op2"}, names())
}
