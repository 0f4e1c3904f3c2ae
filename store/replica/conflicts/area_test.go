package conflicts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/store"
	"memfs/store/replica/conflicts"
	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixture struct {
	*conflicts.Area
	path   string
	now    time.Time
	faults disktest.Faults
}

func open(t *testing.T, o conflicts.Options) *fixture {
	t.Helper()
	f := &fixture{path: filepath.Join(t.TempDir(), "conflicts"), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	o.Now = func() time.Time { return f.now }
	dir, err := disk.Open(f.path, f.faults.Hook)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	f.Area, err = conflicts.Open(dir, o)
	require.NoError(t, err)
	f.faults.Reset()
	return f
}

// save keeps a text, a second after the one before.
func (f *fixture) save(t *testing.T, text string) conflicts.Entry {
	t.Helper()
	f.now = f.now.Add(time.Second)
	e, err := f.Save(conflicts.Entry{StoreID: "memstore_01", Path: "/a/" + text, Reason: "edit", Session: "sesn_01"}, []byte(text))
	require.NoError(t, err)
	return e
}

func (f *fixture) requireTexts(t *testing.T, want ...string) {
	t.Helper()
	entries, err := f.List()
	require.NoError(t, err)
	got := []string{}
	for _, e := range entries {
		text, again, err := f.Text(e.ID)
		require.NoError(t, err)
		require.Equal(t, e, again)
		got = append(got, string(text))
	}
	require.Equal(t, append([]string{}, want...), got)
}

func (f *fixture) files(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(f.path)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestR7_ASavedTextComesBackWithItsStory(t *testing.T) {
	f := open(t, conflicts.Options{})
	in := conflicts.Entry{StoreID: "memstore_01", Path: "/../../etc/passwd\x00\n", Reason: "create", Session: "sesn_01",
		Base: store.Hash([]byte("base")), Remote: store.Hash([]byte("remote"))}
	e, err := f.Save(in, []byte("lost"))
	require.NoError(t, err)
	want := in
	want.ID, want.Time, want.Local, want.Size = e.ID, f.now, store.Hash([]byte("lost")), 4
	assert.Equal(t, want, e)
	f.requireTexts(t, "lost")
	for _, name := range f.files(t) {
		assert.Regexp(t, `^20260102T030405\.000Z-[A-Z2-7]{8}\.(txt|json)$`, name, "a name made from the store's path")
		info, err := os.Stat(filepath.Join(f.path, name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode())
	}
	f.save(t, "")
	f.save(t, "\x00\xff not text")
	f.requireTexts(t, "lost", "", "\x00\xff not text")
}

func TestR7_ASavedTextIsOnDisk(t *testing.T) {
	recorder := disktest.NewRecorder()
	path := filepath.Join(t.TempDir(), "conflicts")
	dir, err := disk.Open(path, recorder.Hook)
	require.NoError(t, err)
	defer func() { assert.NoError(t, dir.Close()) }()
	area, err := conflicts.Open(dir, conflicts.Options{})
	require.NoError(t, err)
	e, err := area.Save(conflicts.Entry{}, []byte("lost"))
	require.NoError(t, err)
	end := recorder.Len()

	for moment := 0; moment <= end; moment++ {
		image := filepath.Join(t.TempDir(), "conflicts")
		require.NoError(t, recorder.Image(path, image, moment, func() bool { return false }))
		dir, err := disk.Open(image, nil)
		require.NoError(t, err)
		area, err := conflicts.Open(dir, conflicts.Options{})
		require.NoError(t, err)
		text, got, err := area.Text(e.ID)
		if moment == end {
			require.NoError(t, err)
			assert.Equal(t, "lost", string(text))
			assert.True(t, e.Time.Equal(got.Time))
		} else {
			assert.Error(t, err, "half an entry at moment %d", moment)
		}
		require.NoError(t, dir.Close())
	}
}

func TestASaveThatFailsLeavesNothing(t *testing.T) {
	f := open(t, conflicts.Options{})
	f.save(t, "before")
	f.faults.Reset()
	f.save(t, "whole")
	for i, step := range f.faults.Seen("", "") {
		f.faults.Reset()
		f.faults.Add(disktest.Rule{Skip: i, Times: 1, Fault: disk.Fault{Err: syscall.ENOSPC, Short: 1}})
		_, err := f.Save(conflicts.Entry{}, []byte("lost"))
		require.ErrorIs(t, err, syscall.ENOSPC, "%+v", step)
		f.faults.Reset()
		f.requireTexts(t, "before", "whole")
		assert.Len(t, f.files(t), 4)
	}
}

func TestR7_OldEntriesExpire(t *testing.T) {
	f := open(t, conflicts.Options{})
	a := f.save(t, "a")
	f.now = f.now.Add(24 * time.Hour)
	f.save(t, "b")
	dropped, err := f.Expire()
	require.NoError(t, err)
	assert.Empty(t, dropped)
	f.now = a.Time.Add(conflicts.DefaultMaxAge)
	dropped, err = f.Expire()
	require.NoError(t, err)
	assert.Empty(t, dropped, "30 days are still within")
	f.now = f.now.Add(time.Second)
	dropped, err = f.Expire()
	require.NoError(t, err)
	assert.Equal(t, []conflicts.Entry{a}, dropped)
	f.requireTexts(t, "b")
}

func TestR7_TheOldestGoFirstWhereThereIsTooMuch(t *testing.T) {
	f := open(t, conflicts.Options{MaxBytes: 10})
	a, b := f.save(t, "aaaa"), f.save(t, "bbbb")
	f.save(t, "cccc")
	f.save(t, "dddddd")
	dropped, err := f.Expire()
	require.NoError(t, err)
	assert.Equal(t, []conflicts.Entry{a, b}, dropped)
	f.requireTexts(t, "cccc", "dddddd")
	assert.Len(t, f.files(t), 4)

	// Nothing older than what no longer fits is kept in its place.
	f.save(t, strings.Repeat("e", 9))
	f.save(t, "ff")
	dropped, err = f.Expire()
	require.NoError(t, err)
	assert.Len(t, dropped, 3)
	f.requireTexts(t, "ff")
}

func TestDrop(t *testing.T) {
	f := open(t, conflicts.Options{})
	a := f.save(t, "a")
	f.save(t, "b")
	outside := filepath.Join(filepath.Dir(f.path), "outside.txt")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	for _, id := range []string{"", ".", "..", "../outside", "/", a.ID + "/", a.ID[:len(a.ID)-1], "20260102T030405.000Z-AAAAAAAA"} {
		assert.ErrorIs(t, f.Drop(id), conflicts.ErrNotFound, id)
		_, _, err := f.Text(id)
		assert.ErrorIs(t, err, conflicts.ErrNotFound, id)
	}
	assert.FileExists(t, outside)
	require.NoError(t, f.Drop(a.ID))
	f.requireTexts(t, "b")
	assert.Len(t, f.files(t), 2)
	assert.ErrorIs(t, f.Drop(a.ID), conflicts.ErrNotFound)
}

func TestDamagedEntriesAreReportedAndKept(t *testing.T) {
	f := open(t, conflicts.Options{})
	good := f.save(t, "good")
	meta, err := os.ReadFile(filepath.Join(f.path, good.ID+".json"))
	require.NoError(t, err)
	var ids []string
	for i, damage := range []string{"", "{", "null", "[]", `{"format":2}`, strings.Repeat(" ", 100_000), string(meta),
		strings.Replace(string(meta), `"local_sha256": "`, `"local_sha256": "zz`, 1)} {
		e := f.save(t, fmt.Sprint("kept ", i))
		ids = append(ids, e.ID)
		require.NoError(t, os.WriteFile(filepath.Join(f.path, e.ID+".json"), []byte(damage), 0o600))
	}
	gone := f.save(t, "no description")
	ids = append(ids, gone.ID)
	require.NoError(t, os.Remove(filepath.Join(f.path, gone.ID+".json")))
	noText := f.save(t, "no text")
	require.NoError(t, os.Remove(filepath.Join(f.path, noText.ID+".txt")))
	hasNoText := filepath.Join(f.path, noText.ID+".json")
	require.NoError(t, os.WriteFile(filepath.Join(f.path, "foreign.txt"), nil, 0o600))

	entries, err := f.List()
	assert.Equal(t, []conflicts.Entry{good}, entries)
	assert.ErrorIs(t, err, conflicts.ErrDamaged)
	var damaged *conflicts.DamagedError
	require.ErrorAs(t, err, &damaged)
	assert.Equal(t, ids, damaged.IDs)

	text, e, err := f.Text(ids[0])
	assert.ErrorIs(t, err, conflicts.ErrDamaged)
	assert.Equal(t, "kept 0", string(text))
	assert.Equal(t, ids[0], e.ID)
	require.NoError(t, os.WriteFile(filepath.Join(f.path, good.ID+".txt"), []byte("goOd"), 0o600))
	text, e, err = f.Text(good.ID)
	assert.ErrorIs(t, err, conflicts.ErrDamaged)
	assert.Equal(t, "goOd", string(text))
	assert.Equal(t, good, e)

	// They expire by the time in their name, and can be dropped.
	require.NoError(t, f.Drop(ids[0]))
	f.now = f.now.Add(2 * conflicts.DefaultMaxAge)
	dropped, err := f.Expire()
	require.NoError(t, err)
	assert.Len(t, dropped, len(ids))
	assert.False(t, dropped[1].Time.IsZero())
	assert.ElementsMatch(t, []string{"foreign.txt", noText.ID + ".json"}, f.files(t), "its text may be on its way")
	age(t, hasNoText)
	_, err = f.Expire()
	require.NoError(t, err)
	assert.Equal(t, []string{"foreign.txt"}, f.files(t))
}

// age makes a file two hours old.
func age(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
}

func TestOpenRemovesUnfinishedSaves(t *testing.T) {
	f := open(t, conflicts.Options{})
	f.faults.Kill(3, false)
	_, err := f.Save(conflicts.Entry{}, []byte("lost"))
	require.ErrorIs(t, err, disktest.ErrKilled)
	require.Len(t, f.files(t), 1)
	f.faults.Reset()
	dir, err := disk.Open(f.path, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, dir.Close()) }()
	_, err = conflicts.Open(dir, conflicts.Options{})
	require.NoError(t, err)
	require.Len(t, f.files(t), 1, "another process may be writing it")
	age(t, filepath.Join(f.path, f.files(t)[0]))
	_, err = conflicts.Open(dir, conflicts.Options{})
	require.NoError(t, err)
	assert.Empty(t, f.files(t))
}

func TestSurvivesBeingWiped(t *testing.T) {
	f := open(t, conflicts.Options{})
	f.save(t, "a")
	require.NoError(t, os.RemoveAll(f.path))
	f.requireTexts(t)
	f.save(t, "b")
	f.requireTexts(t, "b")
}
