//go:build linux

package fs

import (
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store/replica"
)

func startedNotifier(t *testing.T, k *fakeKernel, linked ...replica.Ino) (*notifier, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	tree := &fakeTree{linked: map[replica.Ino]bool{}}
	for _, ino := range linked {
		tree.linked[ino] = true
	}
	n := newNotifier(tree, zap.New(core))
	n.start(k)
	t.Cleanup(func() { <-n.disarm() })
	return n, logs
}

func TestNotifierTellsNamesThenDirectories(t *testing.T) {
	k := &fakeKernel{}
	n, _ := startedNotifier(t, k, 9)

	n.changed([]replica.Change{
		{Parent: 1, Name: "new"},
		{Parent: 1, Name: "replaced", Old: 7},
		{Parent: 2, Name: "moved", Old: 9}, // has another name now
	})
	n.changed([]replica.Change{{Parent: 2, Name: "later"}})

	want := []notice{
		{"entry", 1, 0, "new"},
		{"delete", 1, 7, "replaced"},
		{"entry", 2, 0, "moved"},
		{"inode", 1, 0, ""},
		{"inode", 2, 0, ""},
		{"entry", 2, 0, "later"},
		{"inode", 2, 0, ""},
	}
	require.Eventually(t, func() bool { return len(k.notices()) == len(want) }, soon, time.Millisecond)
	assert.Equal(t, want, k.notices())
}

func TestNotifierNeverBlocksTheOneWhoChanges(t *testing.T) {
	k := &fakeKernel{gate: make(chan struct{})}
	n, _ := startedNotifier(t, k)

	for range 1000 { // each would hang on the gate if it were told here
		n.changed([]replica.Change{{Parent: 1, Name: "a"}})
	}
	assert.Empty(t, k.notices())

	ended := n.disarm()
	select {
	case <-ended:
		t.Fatal("ended while a notification is under way")
	default:
	}
	close(k.gate)
	<-ended
	assert.LessOrEqual(t, len(k.notices()), 2, "what was queued is dropped")
	n.changed([]replica.Change{{Parent: 1, Name: "b"}})
	assert.Empty(t, n.queue)
}

// TestR2_NotifierSaysWhenTheKernelKnows: a sync that returned is seen by the
// next open.
func TestR2_NotifierSaysWhenTheKernelKnows(t *testing.T) {
	k := &fakeKernel{gate: make(chan struct{})}
	n, _ := startedNotifier(t, k)
	n.changed([]replica.Change{{Parent: 1, Name: "a"}})
	told := n.told()
	select {
	case <-told:
		t.Fatal("told before the kernel was")
	case k.gate <- struct{}{}:
	}
	close(k.gate)
	<-told
	assert.Len(t, k.notices(), 2)
	<-n.told()

	never := newNotifier(&fakeTree{}, zap.NewNop())
	dropped := never.told()
	never.disarm()
	<-dropped
	<-never.told()
}

func TestNotifierQueuesUntilMounted(t *testing.T) {
	k := &fakeKernel{}
	n := newNotifier(&fakeTree{}, zap.NewNop())
	n.changed([]replica.Change{{Parent: 1, Name: "early"}})
	n.start(k)
	require.Eventually(t, func() bool { return len(k.notices()) == 2 }, soon, time.Millisecond)
	<-n.disarm()

	idle := newNotifier(&fakeTree{}, zap.NewNop())
	<-idle.disarm() // never started: nothing to wait for
	idle.start(k)
	assert.Len(t, k.notices(), 2)
}

func TestNotifierLogsOnlyWhatIsWrong(t *testing.T) {
	for code, lines := range map[fuse.Status]int{
		fuse.OK: 0, fuse.ENOENT: 0, fuse.Status(syscall.ENOTEMPTY): 0, fuse.EINVAL: 2,
	} {
		k := &fakeKernel{code: code}
		n, logs := startedNotifier(t, k)
		n.changed([]replica.Change{{Parent: 1, Name: "a"}})
		require.Eventually(t, func() bool { return len(k.notices()) == 2 && logs.Len() >= lines }, soon, time.Millisecond)
		<-n.disarm()
		assert.Equal(t, lines, logs.Len(), "%v", code)
	}
}
