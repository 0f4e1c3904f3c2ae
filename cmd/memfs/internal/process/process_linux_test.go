package process_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/cmd/memfs/internal/process"
)

func umask() int {
	now := unix.Umask(0)
	unix.Umask(now)
	return now
}

func TestR18_HardenClosesTheProcess(t *testing.T) {
	before := umask()
	t.Cleanup(func() {
		unix.Umask(before)
		assert.NoError(t, unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
	})
	was, err := process.Harden()
	require.NoError(t, err)
	assert.Equal(t, before, was)
	assert.Equal(t, 0o077, umask())
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	require.NoError(t, err)
	assert.Equal(t, 0, dumpable)
}

func TestWithUmaskPutsTheOldOneBack(t *testing.T) {
	before, failed := umask(), errors.New("failed")
	err := process.WithUmask(0o027, func() error {
		assert.Equal(t, 0o027, umask())
		return failed
	})
	require.ErrorIs(t, err, failed)
	assert.Equal(t, before, umask())
}
