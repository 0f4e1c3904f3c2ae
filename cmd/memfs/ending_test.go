package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/cmd/memfs/internal/exitcode"
)

func TestKeptSaysWhyEditsWait(t *testing.T) {
	require.NoError(t, kept(memfs.Result{}))
	for says, result := range map[string]memfs.Result{
		"1 edit was not sent and kept in the journal: the next attach of the store on this host sends it": {
			Unsent: map[string][]string{"/a": {"/x"}}},
		"2 edits were not sent and kept in the journal: the next attach of the store on this host sends them": {
			Unsent: map[string][]string{"/a": {"/x"}, "/b": {"/y"}}},
		"1 edit was not sent and kept in the journal: the store refuses 1, until what the log names is changed after the next attach (memfs recover export saves it)": {
			Unsent: map[string][]string{"/a": {"/x"}}, Refused: 1},
		"4 edits were not sent and kept in the journal: the store refuses 1, until what the log names is changed after the next attach (memfs recover export saves it); " +
			"2 held back, until what the log says of it is mended; the next attach of the store on this host sends 1": {
			Unsent: map[string][]string{"/a": {"/x", "/y", "/z", "/q"}}, Refused: 1, Held: 2},
	} {
		err := kept(result)
		require.EqualError(t, err, says)
		assert.Equal(t, exitcode.EditsKept, exitcode.Of(err))
	}
}
