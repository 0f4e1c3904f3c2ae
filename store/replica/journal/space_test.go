package journal

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

// full makes the disk full: what was taken ahead is all there is.
func full(f *disktest.Faults) { fail(f, labelExtend, 0, syscall.ENOSPC) }

// fill appends large payloads until the journal takes no more.
func fill(t *testing.T, j *Journal) (texts []string, err error) {
	for {
		text := strings.Repeat("large", 1000)
		if err = j.Append([]byte(text), false); err != nil {
			return texts, err
		}
		texts = append(texts, text)
		require.Less(t, len(texts), 1000)
	}
}

func TestR16_TheReserveIsForSmallAppends(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	full(faults)
	texts, err := fill(t, j)
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotEmpty(t, texts)
	requireReplay(t, dir, texts...)
	s := j.Stats()
	require.GreaterOrEqual(t, s.Space-s.Size, int64(reserve), "the reserve is whole")

	// An unlink or a rename still finds its place, many times.
	record := strings.Repeat("s", 100)
	small := 0
	for ; err == nil || small == 0; small++ {
		if err = j.Append([]byte(record), true); err == nil {
			texts = append(texts, record)
		}
	}
	require.ErrorIs(t, err, ErrNoSpace)
	assert.Greater(t, small, reserve/(100+frameHead)-1)
	require.NoError(t, j.Sync())
	requireReplay(t, dir, texts...)
	assert.False(t, j.Stats().Broken)

	// Room again: the reserve is filled up before a large append goes in.
	faults.Reset()
	appendAll(t, j, "large again")
	s = j.Stats()
	assert.GreaterOrEqual(t, s.Space-s.Size, int64(reserve))
	requireReplay(t, dir, append(texts, "large again")...)
}

func TestThePartOfAnExtentThatFitsIsUsed(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	// Two chunks and a bit, and then nothing.
	faults.Add(disktest.Rule{Label: labelExtend, Skip: 2, Times: 1, Fault: disk.Fault{Short: 1000, Err: syscall.ENOSPC}})
	faults.Add(disktest.Rule{Label: labelExtend, Skip: 2, Fault: disk.Fault{Err: syscall.ENOSPC}})
	before := j.Stats().Space
	texts, err := fill(t, j)
	require.ErrorIs(t, err, ErrNoSpace)
	assert.Equal(t, before+2*zeroChunk+1000, j.Stats().Space)
	assert.Less(t, j.Stats().Space-j.Size()-reserve, int64(5100))
	requireReplay(t, dir, texts...)
}

func TestAnAppendThatFailsHalfWayLeavesNothing(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT} {
		for _, written := range []int{0, 1, 7, 9, 50, 107} {
			faults := new(disktest.Faults)
			j, dir := create(t, faults.Hook, Options{})
			appendAll(t, j, "before")
			faults.Add(disktest.Rule{Label: labelAppend, Times: 1, Fault: disk.Fault{Short: written, Err: cause}})
			err := j.Append([]byte(strings.Repeat("x", 100)), false)
			require.ErrorIs(t, err, cause)
			require.Equal(t, !errors.Is(cause, syscall.EIO), errors.Is(err, ErrNoSpace))
			require.NotErrorIs(t, err, ErrBroken)
			requireReplay(t, dir, "before")
			appendAll(t, j, "after") // shorter than what failed
			require.NoError(t, j.Sync())
			requireReplay(t, dir, "before", "after")
		}
	}
}

func TestAHalfAppendThatStaysBreaksTheJournal(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	appendAll(t, j, "before")
	faults.Add(disktest.Rule{Label: labelAppend, Times: 1, Fault: disk.Fault{Short: 50, Err: syscall.EIO}})
	fail(faults, labelRepair, 1, syscall.EIO)
	require.ErrorIs(t, j.Append([]byte(strings.Repeat("x", 100)), false), ErrBroken)
	require.ErrorIs(t, j.Append([]byte("x"), true), ErrBroken)
	require.ErrorIs(t, j.Sync(), ErrBroken)
	texts, r := replay(t, dir.Path())
	assert.Equal(t, []string{"before"}, texts)
	assert.True(t, r.Damaged)

	require.NoError(t, checkpoint(j, "before"))
	appendAll(t, j, "after")
	requireReplay(t, dir, "before", "after")
}

func TestAFullDiskAtACheckpointKeepsTheOldFile(t *testing.T) {
	for _, label := range []string{labelNew, labelExtend} {
		faults := new(disktest.Faults)
		j, dir := create(t, faults.Hook, Options{})
		appendAll(t, j, "a")
		fail(faults, label, 0, syscall.ENOSPC)
		err := checkpoint(j, "a")
		require.ErrorIs(t, err, ErrNoSpace)
		faults.Reset()
		appendAll(t, j, "b")
		require.NoError(t, j.Sync())
		requireReplay(t, dir, "a", "b")
		assert.Equal(t, []string{name}, names(t, dir))
	}
}
