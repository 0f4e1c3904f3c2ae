package reconcile

import (
	"fmt"
	"testing"
	"time"

	"memfs/store"
	"memfs/store/replica"
)

// BenchmarkPlan shows that a plan costs what changed.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{500, 10_000} {
		b.Run(fmt.Sprintf("first listing of %d", n), func(b *testing.B) {
			in := Input{Local: replica.Snapshot{MarkerOK: true}, Remote: map[string]*store.Memory{}}
			view := NewView()
			for i := range n {
				m := store.Memory{ID: fmt.Sprint("m", i), Path: fmt.Sprintf("/d%d/%d", i%50, i), VersionID: fmt.Sprint("v", i)}
				in.Remote[m.ID] = &m
				view.Put(m)
			}
			in.View = view
			for b.Loop() {
				if got := len(Plan(in).Changes); got != n {
					b.Fatal(got)
				}
			}
		})
		b.Run(fmt.Sprintf("rename of a directory of %d", n), func(b *testing.B) {
			in := Input{Local: replica.Snapshot{MarkerOK: true, Time: time.Now()}, Policy: Policy{Everything: true}}
			view := NewView()
			for i := range n {
				m := store.Memory{ID: fmt.Sprint("m", i), Path: fmt.Sprintf("/old/%d", i), VersionID: fmt.Sprint("v", i)}
				view.Put(m)
				in.Local.Memories = append(in.Local.Memories, replica.Memory{Base: replica.BaseOf(m),
					Carrier: &replica.File{Ino: replica.Ino(i + 2), Path: fmt.Sprintf("/new/%d", i), MemoryID: m.ID}})
			}
			in.View = view
			for b.Loop() {
				if got := len(Plan(in).Sends); got != n {
					b.Fatal(got)
				}
			}
		})
	}
}
