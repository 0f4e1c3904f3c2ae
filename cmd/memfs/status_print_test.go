package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/fs"
	"memfs/reconcile"
	"memfs/store/replica"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func view(change func(*memfs.Status)) mountView {
	s := memfs.Status{
		Status: replica.Status{StoreID: "memstore_1", StoreName: "notes", MountPath: "/mnt/memory/notes", MarkerOK: true,
			Memories: 7, Clean: 4, Remote: 2, Dirty: 1, Deleted: 1, Sending: 1, Scratch: 2, ScratchBytes: 1536, JournalBytes: 4096,
			OldestUnsent: noon.Add(-4 * time.Second)},
		Sync: reconcile.Status{Next: noon.Add(12 * time.Second),
			Last:  reconcile.Report{Began: noon.Add(-3 * time.Second), Ended: noon.Add(-3*time.Second + 20*time.Millisecond), Pushed: 1, Requests: 2},
			Total: reconcile.Totals{Passes: 9, Pushed: 3, Requests: 30}},
	}
	if change != nil {
		change(&s)
	}
	m := mountView{PID: 12, Version: "v1", Started: noon.Add(-time.Hour), Mount: s.MountPath, StoreID: s.StoreID, Status: &s}
	m.Notes = notesOf(m)
	return m
}

func TestPrintStatus(t *testing.T) {
	held := view(func(s *memfs.Status) {
		s.MountPath, s.ReadOnly, s.Sync.Last.HeldDeletes, s.StoreName = "/srv/b", true, 9, ""
		s.Slowest = []fs.Slow{{Op: "read", Path: "/a.md", Seconds: 0.3121, At: noon.Add(-time.Minute)}, {Op: "rename", Path: "/b.md", Seconds: 0.012, At: noon}}
	})
	dead := mountView{Mount: "/srv/c", StoreID: "memstore_3", Fault: "it does not answer"}
	dead.Notes = notesOf(dead)
	var out strings.Builder
	require.NoError(t, printStatus(&out, []mountView{view(nil), held, dead}, false, 0, noon))
	assert.Equal(t, `
PATH               STORE       ACCESS  MEMORIES  DIRTY  DELETED  SENDING  HELD  HELD DELETES  REFUSED  CONFLICTS  SCRATCH  UNFETCHED  OLDEST UNSENT  LAST PASS  NEXT    JOURNAL  REQUESTS  SLOWEST
/mnt/memory/notes  notes       write   7         1      1        1        0     0             0        0          2        2          4s             3s ago     in 12s  4.0 KiB  30        -
/srv/b             memstore_1  read    7         1      1        1        0     9             0        0          2        2          4s             3s ago     in 12s  4.0 KiB  30        read 312ms
/srv/c             memstore_3  -
/srv/b: 9 deletes are held because they concern most of the store: memfs sync /srv/b --allow-deletes sends them
/srv/c: it does not answer
`, "\n"+out.String())

	out.Reset()
	require.NoError(t, printStatus(&out, []mountView{view(func(s *memfs.Status) {
		s.Conflicts = 1
		s.Slowest = []fs.Slow{{Op: "read", Path: "/a.md", Seconds: 0.3121, At: noon.Add(-time.Minute)}}
	})}, true, 0, noon))
	assert.Equal(t, `
/mnt/memory/notes
  store        notes (memstore_1), write
  process      12, version v1, for 1h0m0s
  memories     7: 4 clean, 2 unfetched, 1 dirty, 0 held, 0 refused
  unsent       1 dirty, 1 deleted, 0 written to replaced files; the oldest for 4s
  sending      1
  held         0 files, 0 deletes; 0 deletes are not sent by choice
  conflicts    1
  scratch      2, 1.5 KiB
  journal      4.0 KiB
  last pass    3s ago: 1 pushed, 0 deleted, 0 pulled, 0 conflicts, 2 requests, took 20ms
  next pass    in 12s
  since start  9 passes, 0 failed; 3 pushed, 0 deleted, 0 pulled, 0 conflicts, 30 requests
  slow         read /a.md took 312ms, 1m0s ago
  attention    1 text lost against the store: memfs conflicts list
`, "\n"+out.String())

	out.Reset()
	require.NoError(t, printStatus(&out, []mountView{view(func(s *memfs.Status) {
		s.Deleted, s.Sending, s.Remote, s.Scratch, s.Dirty, s.OldestUnsent = 0, 0, 0, 0, 0, time.Time{}
		s.Refused = 1
	})}, false, 80, noon))
	assert.Equal(t, `
PATH               STORE  ACCESS  MEMORIES  REFUSED  LAST PASS  NEXT
/mnt/memory/notes  notes  write   7         1        3s ago     in 12s
/mnt/memory/notes: 1 file is refused by the store: change what memfs inspect FILE names; it stays here as it is
`, "\n"+out.String())

	out.Reset()
	require.NoError(t, printStatus(&out, nil, false, 0, noon))
	assert.Equal(t, "nothing is mounted\n", out.String())
	require.NoError(t, errors.Join(check([]mountView{view(nil)}, checkLive), check([]mountView{view(nil)}, checkSynced)))
}

func TestCheck(t *testing.T) {
	assert.Equal(t, exitcode.Failed, exitcode.Of(check(nil, checkLive)))
	for name, c := range map[string]struct {
		change       func(*memfs.Status)
		live, synced int
	}{
		"in step":     {nil, 0, 0},
		"conflict":    {func(s *memfs.Status) { s.Conflicts = 1 }, 0, 0},
		"refused":     {func(s *memfs.Status) { s.Refused = 1 }, 0, exitcode.EditsKept},
		"held":        {func(s *memfs.Status) { s.Held = 1 }, 0, exitcode.EditsKept},
		"hidden":      {func(s *memfs.Status) { s.Sync.Hidden = 1 }, 0, 0},
		"outage":      {func(s *memfs.Status) { s.Sync.Error = "no route" }, 0, exitcode.Unreachable},
		"frozen":      {func(s *memfs.Status) { s.Sync.Frozen = true }, 0, exitcode.Unreachable},
		"marker":      {func(s *memfs.Status) { s.MarkerOK = false }, 0, exitcode.EditsKept},
		"archived":    {func(s *memfs.Status) { s.Sync.Archived = true }, 0, exitcode.EditsKept},
		"full":        {func(s *memfs.Status) { s.Sync.Full = true }, 0, exitcode.EditsKept},
		"mass delete": {func(s *memfs.Status) { s.Sync.Last.HeldDeletes = 9 }, 0, exitcode.EditsKept},
		"panic":       {func(s *memfs.Status) { s.Panics = 1 }, exitcode.Failed, exitcode.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			m := []mountView{view(c.change)}
			assert.Equal(t, c.live, exitcode.Of(check(m, checkLive)))
			assert.Equal(t, c.synced, exitcode.Of(check(m, checkSynced)))
		})
	}
}

func TestFrameFits(t *testing.T) {
	assert.Equal(t, "\x1b[Habc\x1b[K\näöü\x1b[K\n\x1b[J", frame("abcdef\näöüß\nlast\n", 3, 3))
	assert.Equal(t, "\x1b[H\x1b[J", frame("a\n", 10, 0))
}
