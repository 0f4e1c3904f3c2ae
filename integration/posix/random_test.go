package posix

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dice are a test's random choices. The same seed makes the same choices.
type dice struct {
	*rand.Rand
	letters []byte
}

// roll says which seed it took; MEMFS_SEED repeats it.
func roll(t *testing.T) dice {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("MEMFS_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MEMFS_SEED=%d", seed)
	d := dice{rand.New(rand.NewPCG(seed, 1)), make([]byte, 128<<10)}
	for i := range d.letters {
		d.letters[i] = byte('a' + d.IntN(26))
	}
	return d
}

// text is n random letters; n is at most 64 Ki.
func (d dice) text(n int) []byte {
	start := d.IntN(len(d.letters) / 2)
	return slices.Clone(d.letters[start : start+n])
}

// pick is one of several.
func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// journal keeps what a random test did last, to be told when it fails.
type journal struct{ lines []string }

const journalSize = 40

func (j *journal) add(format string, args ...any) {
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
	if len(j.lines) > journalSize {
		j.lines = j.lines[1:]
	}
}

func (j *journal) String() string { return "last operations:\n" + strings.Join(j.lines, "\n") }
