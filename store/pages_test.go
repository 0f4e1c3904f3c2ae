package store

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R5: a listing comes to an end, whatever the cursors are.
func TestR5_PagesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		next    func(n int) string
		entries int
		within  int // pages
	}{
		"stands":          {func(int) string { return "same" }, 1, 2},
		"goes round":      {func(n int) string { return strconv.Itoa(n % 7) }, 1, 8},
		"empty for ever":  {strconv.Itoa, 0, 101},
		"filled for ever": {strconv.Itoa, 1, 20_001},
		"long":            {func(n int) string { return strings.Repeat("c", MaxCursor+1) }, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var p Pages
			for n := 1; ; n++ {
				more, err := p.More(c.next(n), c.entries)
				if err != nil {
					assert.ErrorIs(t, err, ErrProtocol)
					assert.False(t, more)
					return
				}
				require.True(t, more)
				require.Less(t, n, c.within)
			}
		})
	}
	var p Pages
	for n := range 10_000 {
		more, err := p.More(strconv.Itoa(n), n%50) // now and then an empty one
		require.NoError(t, err)
		require.True(t, more)
	}
	more, err := p.More("", 0)
	assert.NoError(t, err)
	assert.False(t, more)
}
