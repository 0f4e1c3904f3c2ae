package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

func TestR3_WhatWasAppendedIsReadBackInOrder(t *testing.T) {
	j, dir := create(t, nil, Options{})
	texts := numbered(200)
	texts = append(texts, strings.Repeat("x", MaxPayload), "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "last")
	appendAll(t, j, texts...)
	requireReplay(t, dir, texts...) // without a sync or close, as after SIGKILL

	assert.EqualValues(t, len(texts), j.Stats().Records)
	_, r := replay(t, dir.Path())
	assert.Equal(t, j.Size(), r.Good)
	assert.Equal(t, j.Stats().Space, r.Size)
	require.NoError(t, j.Close())
	requireReplay(t, dir, texts...)
}

func TestCreateTakesTheOldJournalsPlace(t *testing.T) {
	j, dir := create(t, nil, Options{})
	appendAll(t, j, "old")
	require.NoError(t, j.Close())
	j, err := Create(dir, name, header, payloads("a", "b"), Options{})
	require.NoError(t, err)
	appendAll(t, j, "c")
	require.NoError(t, j.Close())
	requireReplay(t, dir, "a", "b", "c")
	assert.Equal(t, []string{name}, names(t, dir))
}

func TestCreateKeepsTheOldJournalWhereItFails(t *testing.T) {
	for _, label := range []string{labelTemp, labelNew, labelExtend, labelNewSync, labelRename} {
		t.Run(label, func(t *testing.T) {
			faults := new(disktest.Faults)
			j, dir := create(t, faults.Hook, Options{})
			appendAll(t, j, "old")
			require.NoError(t, j.Close())
			faults.Add(disktest.Rule{Label: label, Skip: skipRemoval(label), Fault: disk.Fault{Err: errInjected}})
			_, err := Create(dir, name, header, payloads("new"), Options{})
			require.ErrorIs(t, err, errInjected)
			faults.Reset()
			requireReplay(t, dir, "old")
			assert.Equal(t, []string{name}, names(t, dir))
		})
	}
}

var errInjected = errors.New("injected")

// skipRemoval lets the removal of a leftover pass, to fail the create.
func skipRemoval(label string) int {
	if label == labelTemp {
		return 1
	}
	return 0
}

func TestPayloadsHaveBounds(t *testing.T) {
	j, dir := create(t, nil, Options{})
	assert.ErrorIs(t, j.Append(nil, false), ErrTooLarge)
	assert.ErrorIs(t, j.Append(make([]byte, MaxPayload+1), false), ErrTooLarge)
	assert.ErrorIs(t, checkpoint(j, ""), ErrTooLarge)
	appendAll(t, j, "fine")
	requireReplay(t, dir, "fine")
	_, err := Create(dir, "other", Header{Store: strings.Repeat("x", maxHeader)}, none, Options{})
	assert.ErrorIs(t, err, ErrTooLarge)
}

func TestClosedJournal(t *testing.T) {
	j, dir := create(t, nil, Options{})
	c := j.BeginCheckpoint()
	appendAll(t, j, "a")
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	assert.ErrorIs(t, j.Append([]byte("b"), true), ErrClosed)
	assert.ErrorIs(t, j.Sync(), ErrClosed)
	assert.ErrorIs(t, c.Commit(none), ErrClosed)
	assert.ErrorIs(t, checkpoint(j), ErrClosed)
	requireReplay(t, dir, "a")
	assert.Equal(t, []string{name}, names(t, dir))
}

func TestReadRemovesWhatACheckpointLeft(t *testing.T) {
	_, dir := create(t, nil, Options{})
	leftover := filepath.Join(dir.Path(), name+tempSuffix)
	require.NoError(t, os.WriteFile(leftover, []byte("half"), 0o600))
	requireReplay(t, dir)
	assert.NoFileExists(t, leftover)
}

func TestReadReportsWhatItCannotRead(t *testing.T) {
	_, dir := create(t, nil, Options{})
	read := func(file string) error {
		_, err := Read(dir, file, func([]byte) error { return nil })
		return err
	}
	put := func(file, content string) {
		require.NoError(t, dir.WriteFile("test", file, []byte(content), false))
	}
	assert.ErrorIs(t, read("none"), fs.ErrNotExist)
	for i, content := range []string{"", "memfs", strings.Repeat("x", 1000), magic + "\x01\x00\x00\x00", strings.Repeat("\x00", 5000)} {
		put("bad", content)
		assert.ErrorIs(t, read("bad"), ErrHeader, "%d", i)
	}
	whole, err := dir.ReadFile("test", name, 1<<20)
	require.NoError(t, err)
	whole[len(magic)] = 2
	put("newer", string(whole))
	var version *VersionError
	require.ErrorAs(t, read("newer"), &version)
	assert.Equal(t, VersionError{Path: filepath.Join(dir.Path(), "newer"), Version: 2}, *version)
	assert.ErrorContains(t, version, "newer")
}

func TestReadStopsAtAppliesError(t *testing.T) {
	j, dir := create(t, nil, Options{})
	appendAll(t, j, "a", "b", "c")
	var got []string
	r, err := Read(dir, name, func(payload []byte) error {
		if string(payload) == "b" {
			return errInjected
		}
		got = append(got, string(payload))
		return nil
	})
	require.ErrorIs(t, err, errInjected)
	assert.Equal(t, []string{"a"}, got)
	assert.Equal(t, 1, r.Records)
}

func TestReadReportsTheDisksErrors(t *testing.T) {
	faults := new(disktest.Faults)
	j, dir := create(t, faults.Hook, Options{})
	appendAll(t, j, "a")
	faults.Add(disktest.Rule{Label: labelRead, Kind: disk.KindRead, Fault: disk.Fault{Err: errInjected}})
	_, err := Read(dir, name, func([]byte) error { return nil })
	assert.ErrorIs(t, err, errInjected)
}

func TestReadHeaderChangesNothing(t *testing.T) {
	_, dir := create(t, nil, Options{})
	require.NoError(t, dir.WriteFile("test", name+tempSuffix, []byte("a checkpoint of another process"), false))
	h, err := ReadHeader(dir, name)
	require.NoError(t, err)
	assert.Equal(t, header, h)
	assert.Equal(t, []string{name, name + tempSuffix}, names(t, dir))
	_, err = ReadHeader(dir, name+tempSuffix)
	assert.ErrorIs(t, err, ErrHeader)
	_, err = ReadHeader(dir, "none")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
