package replica

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A long row of files moves up by one place each. What stands at the end decides
// about all of them.
func TestR5_AChainOfMovesGoesAllOrNotAtAll(t *testing.T) {
	const length = 3000
	for _, obstructed := range []bool{false, true} {
		t.Run(fmt.Sprint("obstructed ", obstructed), func(t *testing.T) {
			w := newWorld(t)
			var set []Apply
			for i := range length {
				b := w.base(fmt.Sprint("m", i), fmt.Sprintf("/d%d/file", i), fmt.Sprint(i))
				ino := w.ino(b.Path)
				b.Path = fmt.Sprintf("/d%d/file", i+1)
				set = append(set, Apply{Place: MoveFile, ID: b.ID, Base: &b, Ino: ino})
			}
			if obstructed {
				w.write(fmt.Sprintf("/d%d", length), "a file where a directory is to be")
			}
			applied, err := w.Apply(set)
			require.NoError(t, err)
			for i, ok := range applied {
				require.Equal(t, !obstructed, ok, i)
			}
			at := "/d0/file"
			if !obstructed {
				at = "/d1/file"
			}
			assert.Equal(t, "0", w.read(at))
		})
	}
}

// Two want one place, and a third that of the one that stays.
func TestR5_OneOfTwoThatWantAPlaceGetsIt(t *testing.T) {
	w := newWorld(t)
	move := func(id, to string) Apply {
		b := w.base(id, "/"+id, id)
		ino := w.ino(b.Path)
		b.Path = to
		return Apply{Place: MoveFile, ID: id, Base: &b, Ino: ino}
	}
	set := []Apply{move("a", "/place"), move("b", "/place"), move("c", "/a"), move("d", "/b")}
	applied, err := w.Apply(set)
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true, false, true}, applied)
}
