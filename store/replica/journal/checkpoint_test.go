package journal

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

func TestR3_AFailedSyncIsNeverBelieved(t *testing.T) {
	faults := new(disktest.Faults)
	began, release := make(chan struct{}), make(chan struct{})
	faults.Add(disktest.Rule{Label: labelSync, Times: 1, Fault: disk.Fault{Err: syscall.EIO},
		Call: func(disk.Op) { close(began); <-release }})
	j, dir := create(t, faults.Hook, Options{})
	appendAll(t, j, "a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := j.Sync()
			assert.ErrorIs(t, err, ErrBroken)
			assert.ErrorIs(t, err, syscall.EIO)
		})
	}
	<-began
	appendAll(t, j, "b") // acknowledged before the failure was known
	close(release)
	all.Wait()
	assert.Equal(t, 1, syncs(faults), "not tried again")
	assert.ErrorIs(t, j.Append([]byte("c"), true), ErrBroken)
	assert.True(t, j.Stats().Broken)

	require.NoError(t, checkpoint(j, "a", "b"))
	assert.False(t, j.Stats().Broken)
	requireReplay(t, dir, "a", "b")
	appendAll(t, j, "c")
	require.NoError(t, j.Sync())
	requireReplay(t, dir, "a", "b", "c")
}

func TestAFailedSyncDuringACheckpointIsHealedByIt(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	appendAll(t, j, "a")
	c := j.BeginCheckpoint()
	appendAll(t, j, "b")
	fail(faults, labelSync, 1, syscall.EIO)
	require.ErrorIs(t, j.Sync(), ErrBroken)
	require.NoError(t, c.Commit(payloads("a")))
	appendAll(t, j, "c")
	require.NoError(t, j.Sync())
	requireReplay(t, dir, "a", "b", "c")
}

// Nobody finds what is appended to a wiped file: appends notice by themselves.
func TestR3_AppendsNoticeThatTheFileWasWiped(t *testing.T) {
	j, dir := create(t, nil, Options{SyncAfter: time.Hour})
	appendAll(t, j, "before")
	require.NoError(t, os.RemoveAll(dir.Path()))
	require.Eventually(t, func() bool { return errors.Is(j.Append([]byte("lost"), false), ErrBroken) },
		10*time.Second, lookEvery)
	require.NoError(t, checkpoint(j))
	appendAll(t, j, "after")
}

func TestARemovedFileBreaksTheJournal(t *testing.T) {
	j, dir := create(t, nil, Options{})
	appendAll(t, j, "a")
	require.NoError(t, os.RemoveAll(dir.Path()))
	_ = j.Append([]byte("b"), false) // may have found out already
	require.ErrorIs(t, j.Sync(), ErrBroken)
	require.NoError(t, checkpoint(j, "a", "b"))
	appendAll(t, j, "c")
	require.NoError(t, j.Sync())
	requireReplay(t, dir, "a", "b", "c")
}

func TestOneCheckpointAtATime(t *testing.T) {
	j, dir := create(t, nil, Options{})
	appendAll(t, j, "a")
	c := j.BeginCheckpoint()
	assert.ErrorIs(t, checkpoint(j, "wrong"), ErrCheckpointing)
	appendAll(t, j, "b")
	c.Abort()
	c.Abort()
	assert.Error(t, c.Commit(payloads("wrong")))
	requireReplay(t, dir, "a", "b")
	c = j.BeginCheckpoint()
	require.NoError(t, c.Commit(payloads("a", "b")))
	c.Abort()
	assert.Error(t, c.Commit(payloads("wrong")))
	requireReplay(t, dir, "a", "b")
	assert.EqualValues(t, 1, j.Stats().Checkpoints)
}

func TestACheckpointBoundsTheSize(t *testing.T) {
	j, dir := create(t, nil, Options{})
	for range 30 {
		appendAll(t, j, strings.Repeat("x", 100_000))
	}
	before := j.Stats()
	require.NoError(t, checkpoint(j, "short"))
	after := j.Stats()
	assert.Greater(t, before.Size, int64(3_000_000))
	assert.Less(t, after.Size, int64(1000))
	assert.Less(t, after.Space, int64(2*extent))
	requireReplay(t, dir, "short")
}

// appending is a snapshot that, as it is read, has records appended to the
// journal: more than one catch-up can follow.
func appending(t *testing.T, j *Journal, snapshot []string, more *[]string, hook func()) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i, text := range snapshot {
			added := fmt.Sprintf("during %d", i)
			if j.Append([]byte(added), false) == nil {
				*more = append(*more, added)
			}
			hook()
			if !yield([]byte(text)) {
				return
			}
		}
	}
}

// atCheckpoint runs a checkpoint with appends all through it, on a journal
// with a few records, and returns what was acknowledged.
func atCheckpoint(t *testing.T, faults *disktest.Faults, prepare func(j *Journal)) (j *Journal, dir *disk.Dir, acknowledged []string, err error) {
	j, dir = create(t, faults.Hook, Options{})
	acknowledged = numbered(5)
	appendAll(t, j, acknowledged...)
	require.NoError(t, j.Sync())
	appendAll(t, j, "unsynced")
	acknowledged = append(acknowledged, "unsynced")
	faults.Reset()
	// The last catch-up happens under the lock only for what was appended
	// after the bulk was synced: append from within that sync.
	faults.Add(disktest.Rule{Label: labelNewSync, Times: 1, Call: func(disk.Op) {
		if j.Append([]byte("late"), false) == nil {
			acknowledged = append(acknowledged, "late")
		}
	}})
	prepare(j)
	c := j.BeginCheckpoint()
	err = c.Commit(appending(t, j, slices.Clone(acknowledged), &acknowledged, func() {}))
	return j, dir, acknowledged, err
}

// alike reports whether operations do the same: writing the chunks of an
// extent, of which two are enough to try.
func alike(ops []disk.Op) bool {
	return !slices.ContainsFunc(ops, func(op disk.Op) bool { return op.Label != ops[0].Label || op.Kind != ops[0].Kind })
}

// The clock stands still, so that each run takes the same steps.
func TestR16_AKillAtAnyStepOfACheckpointLosesNothing(t *testing.T) { synctest.Test(t, killAtAnyStep) }

func killAtAnyStep(t *testing.T) {
	faults := new(disktest.Faults)
	_, _, _, err := atCheckpoint(t, faults, func(*Journal) {})
	require.NoError(t, err)
	steps := faults.Seen("", "")
	labels := map[string]bool{}
	for _, op := range steps {
		labels[op.Label] = true
	}
	for _, label := range []string{labelTemp, labelNew, labelExtend, labelNewSync, labelTail, labelRename, labelDirSync} {
		require.True(t, labels[label], label)
	}
	for i, step := range steps {
		if i > 1 && alike(steps[i-2:i+1]) {
			continue
		}
		for _, after := range []bool{false, true} {
			what := fmt.Sprintf("step %d (%s %s), after=%v", i+1, step.Label, step.Kind, after)
			faults := new(disktest.Faults)
			_, dir, acknowledged, err := atCheckpoint(t, faults, func(*Journal) { faults.Kill(i+1, after) })
			if i+1 < len(steps) || !after {
				require.Error(t, err, what)
			}
			texts, r := replay(t, dir.Path())
			require.False(t, r.Damaged, what)
			require.Equal(t, acknowledged, texts, what)
			require.NoFileExists(t, filepath.Join(dir.Path(), name+tempSuffix), "Read removes leftovers")
		}
	}
}

// The clock stands still, so that each run takes the same steps.
func TestR16_AFaultAtAnyStepOfACheckpointLosesNothing(t *testing.T) { synctest.Test(t, failAtAnyStep) }

func failAtAnyStep(t *testing.T) {
	faults := new(disktest.Faults)
	_, _, _, err := atCheckpoint(t, faults, func(*Journal) {})
	require.NoError(t, err)
	steps := faults.Seen("", "")
	for i, step := range steps {
		if i > 1 && alike(steps[i-2:i+1]) {
			continue
		}
		for _, fault := range []disk.Fault{{Err: syscall.EIO}, {Err: syscall.ENOSPC}, {Err: syscall.EIO, Short: 3}} {
			what := fmt.Sprintf("step %d (%s %s), %+v", i+1, step.Label, step.Kind, fault)
			faults := new(disktest.Faults)
			j, dir, acknowledged, err := atCheckpoint(t, faults, func(*Journal) {
				faults.Add(disktest.Rule{Skip: i, Times: 1, Fault: fault})
			})
			faults.Reset()
			texts, r := replay(t, dir.Path())
			require.Equal(t, acknowledged, texts, what)
			if j.Stats().Broken {
				require.Error(t, err, what)
				require.Equal(t, labelDirSync, step.Label, what)
				require.NoError(t, checkpoint(j, acknowledged...), what)
			} else {
				require.False(t, r.Damaged, what)
			}
			appendAll(t, j, "after")
			require.NoError(t, j.Sync(), what)
			require.NoError(t, checkpoint(j, append(acknowledged, "after")...), what)
			requireReplay(t, dir, append(acknowledged, "after")...)
		}
	}
}

// Until the new file's name is durable, power loss may bring the old file
// back, which has nothing of what was appended to the new one.
func TestR3_SyncWaitsForTheNewFilesName(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	appendAll(t, j, "a")
	reached := false
	var all sync.WaitGroup
	faults.Add(disktest.Rule{Label: labelDirSync, Times: 1, Call: func(disk.Op) {
		reached = true
		appendAll(t, j, "b") // goes to the new file, without waiting
		assert.False(t, j.syncing.TryLock(), "a sync could run now")
		all.Go(func() { assert.NoError(t, j.Sync()) })
	}})
	require.NoError(t, checkpoint(j, "a"))
	all.Wait()
	require.True(t, reached)
	requireReplay(t, dir, "a", "b")
}

func TestAppendsDoNotWaitForTheBulkOfACheckpoint(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	appendAll(t, j, "a")
	c := j.BeginCheckpoint()
	// Appends and syncs are made while the bulk is being written, and appends
	// while it is being synced: this test ends only if they do not wait.
	faults.Add(disktest.Rule{Label: labelNewSync, Times: 1, Call: func(disk.Op) {
		appendAll(t, j, "c")
		assert.NoError(t, j.Sync())
	}})
	var more []string
	require.NoError(t, c.Commit(appending(t, j, []string{"a"}, &more, func() { assert.NoError(t, j.Sync()) })))
	requireReplay(t, dir, "a", "during 0", "c")
}
