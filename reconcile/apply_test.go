package reconcile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store/replica"
)

// R11: changes of a store far over its cap go to the journal in parts, in their
// order, and none is too large for a frame.
func TestR11_ManyChangesGoInParts(t *testing.T) {
	changes := make([]Change, 100_000)
	for i := range changes {
		changes[i].ID = string(rune('a' + i%26))
		changes[i].Base = &replica.Base{ID: strings.Repeat("i", 256), VersionID: strings.Repeat("v", 256), Path: strings.Repeat("p", 1024)}
	}
	var joined []Change
	for _, part := range parts(changes) {
		require.NotEmpty(t, part)
		size := 0
		for _, c := range part {
			size += recordsOf(c)
		}
		require.LessOrEqual(t, size, maxSet)
		joined = append(joined, part...)
	}
	require.Equal(t, changes, joined)
	require.Empty(t, parts(nil))
	for i := range changes {
		changes[i].Base.Path = "/notes/2026/a-usual-path-of-a-memory.md"
		changes[i].Base.ID, changes[i].Base.VersionID = "mem_01HZY3NDEKTSV4RRFFQ69G5FAV", "memver_01HZY3NDEKTSV4RRFFQ69G5FAV"
	}
	require.Len(t, parts(changes[:10_000]), 1)
}
