package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R18: a directory is given away when everything in it is. Its new owner could
// put a link to the host's files in the place of what is still to be given.
func TestR18_SkillsAreGivenAwayFromInside(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "skills", "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills", "a", "f"), nil, 0o600))
	var given []string
	require.NoError(t, each(dir, func(path string) error {
		assert.NotContains(t, given, dir, "others can reach in now")
		given = append(given, path)
		return nil
	}))
	assert.Len(t, given, 5)
	assert.Equal(t, dir, given[4])
}
