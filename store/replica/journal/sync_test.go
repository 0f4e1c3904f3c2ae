package journal

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

// syncs counts the syncs of the journal's own file.
func syncs(f *disktest.Faults) int { return len(f.Seen(labelSync, disk.KindSync)) }

func TestR3_SyncCallersShareOneSync(t *testing.T) {
	faults := new(disktest.Faults)
	began, release := make(chan struct{}), make(chan struct{})
	faults.Add(disktest.Rule{Label: labelSync, Times: 1, Call: func(disk.Op) { close(began); <-release }})
	j, _ := create(t, faults.Hook, Options{})
	appendAll(t, j, "first")
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, j.Sync()) })
	<-began
	const callers = 32
	var appended sync.WaitGroup
	appended.Add(callers)
	for range callers {
		all.Go(func() {
			assert.NoError(t, j.Append([]byte("more"), false)) // appends do not wait for a sync
			appended.Done()
			assert.NoError(t, j.Sync())
		})
	}
	appended.Wait()
	close(release)
	all.Wait()
	assert.Equal(t, 2, syncs(faults), "of %d callers", callers)
	require.NoError(t, j.Sync())
	assert.Equal(t, 2, syncs(faults), "nothing to sync")
}

func TestR3_SyncCoversEveryAppendThatReturnedBefore(t *testing.T) {
	faults := new(disktest.Faults)
	j, _ := create(t, faults.Hook, Options{})
	for i := range 5 {
		appendAll(t, j, "a")
		require.NoError(t, j.Sync())
		assert.Equal(t, i+1, syncs(faults))
	}
	// An append that comes while a sync runs is not covered by it.
	began, release := make(chan struct{}), make(chan struct{})
	faults.Add(disktest.Rule{Label: labelSync, Times: 1, Call: func(disk.Op) { close(began); <-release }})
	appendAll(t, j, "b")
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, j.Sync()) })
	<-began
	appendAll(t, j, "c")
	close(release)
	all.Wait()
	require.NoError(t, j.Sync())
	assert.Equal(t, 7, syncs(faults))
}

func TestR16_WhatRecordsBuildOnIsSyncedFirst(t *testing.T) {
	var order []string
	hook := func(op disk.Op) disk.Fault {
		if op.Kind == disk.KindSync && op.Label != "dir.open" {
			order = append(order, op.Label)
		}
		return disk.Fault{}
	}
	var objects error
	j, dir := create(t, hook, Options{BeforeSync: func() error { order = append(order, "objects"); return objects }})
	assert.Equal(t, []string{"objects", labelNewSync, labelDirSync}, order)
	order = nil
	appendAll(t, j, "a")
	require.NoError(t, j.Sync())
	assert.Equal(t, []string{"objects", labelSync}, order)
	order = nil
	require.NoError(t, checkpoint(j, "a"))
	assert.Equal(t, []string{"objects", labelNewSync, labelDirSync}, order)

	order, objects = nil, syscall.ENOSPC
	appendAll(t, j, "b")
	assert.ErrorIs(t, j.Sync(), syscall.ENOSPC)
	assert.ErrorIs(t, checkpoint(j, "a", "b"), syscall.ENOSPC)
	assert.Equal(t, []string{"objects", "objects"}, order, "the journal must not be ahead of the objects")
	_, err := Create(dir, "other", header, none, Options{BeforeSync: func() error { return syscall.ENOSPC }})
	assert.ErrorIs(t, err, syscall.ENOSPC)

	order, objects = nil, nil // no failed fdatasync, so nothing is broken
	require.NoError(t, j.Sync())
	assert.Equal(t, []string{"objects", labelSync}, order)
	requireReplay(t, dir, "a", "b")
}

func TestR3_AnAppendIsSyncedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := new(disktest.Faults)
		j, _ := create(t, faults.Hook, Options{})
		appendAll(t, j, "a")
		time.Sleep(900 * time.Millisecond)
		appendAll(t, j, "b") // does not put the first one off
		synctest.Wait()
		assert.Equal(t, 0, syncs(faults))
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 1, syncs(faults))

		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 1, syncs(faults))
		j.mu.Lock()
		assert.Nil(t, j.timer, "an idle journal has no timer")
		j.mu.Unlock()
		require.NoError(t, j.Close())
	})
}

func TestASyncThatNobodyWaitsForReportsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objectsFail atomic.Bool
		failed := make(chan error, 100)
		faults := new(disktest.Faults)
		o := Options{SyncAfter: time.Minute, OnError: func(err error) { failed <- err }, BeforeSync: func() error {
			if objectsFail.Load() {
				return syscall.EIO
			}
			return nil
		}}
		j, _ := create(t, faults.Hook, o)
		objectsFail.Store(true)
		appendAll(t, j, "a")
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		require.Len(t, failed, 2, "tried again")
		assert.ErrorIs(t, <-failed, syscall.EIO)
		assert.ErrorIs(t, <-failed, syscall.EIO)
		objectsFail.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, failed)
		assert.Equal(t, 1, syncs(faults))

		fail(faults, labelSync, 1, syscall.EIO)
		appendAll(t, j, "b")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, failed, 1, "a broken journal is not tried again")
		assert.ErrorIs(t, <-failed, ErrBroken)
		assert.ErrorIs(t, j.Close(), ErrBroken)
	})
}

func TestCloseSyncs(t *testing.T) {
	faults := new(disktest.Faults)
	j, _ := create(t, faults.Hook, Options{})
	appendAll(t, j, "a")
	require.NoError(t, j.Close())
	assert.Equal(t, 1, syncs(faults))
}

func TestConcurrentAppendsSyncsAndCheckpoints(t *testing.T) {
	j, dir := create(t, nil, Options{SyncAfter: time.Millisecond})
	const writers, each = 8, 150
	var state struct {
		sync.Mutex
		texts []string
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				text := strings.Repeat(string(rune('a'+w)), 1+i%100*30)
				state.Lock()
				err := j.Append([]byte(text), i%3 == 0)
				state.texts = append(state.texts, text)
				state.Unlock()
				assert.NoError(t, err)
				if i%5 == 0 {
					assert.NoError(t, j.Sync())
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	checkpoints := 0
	for running := true; running; checkpoints++ {
		select {
		case <-done:
			running = false
		default:
		}
		state.Lock()
		c, texts := j.BeginCheckpoint(), slices.Clone(state.texts)
		state.Unlock()
		require.NoError(t, c.Commit(payloads(texts...)))
		require.Greater(t, j.Stats().Checkpoints, uint64(checkpoints))
	}
	requireReplay(t, dir, state.texts...)
	require.NoError(t, j.Close())
	requireReplay(t, dir, state.texts...)
	assert.Equal(t, []string{name}, names(t, dir))
}
