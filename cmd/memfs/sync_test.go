package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/reconcile"
)

func TestSyncTellsWhatWasNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		report reconcile.Report
		code   int
		says   string
	}{
		"everything sent": {`{"marker_ok":true,"conflicts":1,"dirty":2}`, reconcile.Report{Pushed: 1, SuppressedDeletes: 1}, 0, ""},
		"read-only":       {`{"marker_ok":true,"read_only":true}`, reconcile.Report{Held: 1}, 0, ""},
		"refused": {`{"marker_ok":true,"refused":2}`, reconcile.Report{Refused: 2, Unsent: []string{"/a", "/b"}}, exitcode.EditsKept,
			"memfs: /mnt/a: 2 files are refused by the store: change what memfs inspect FILE names; it stays here as it is (/a, /b)\n"},
		"held and more": {`{"marker_ok":true,"held":1}`, reconcile.Report{Held: 1, Unsent: []string{"/1", "/2", "/3", "/4", "/5", "/6"}}, exitcode.EditsKept,
			"memfs: /mnt/a: 1 file is held back: memfs inspect FILE says why; 5 edits were not sent: " +
				"the journal keeps them and the next passes try again; the log says why (/1, /2, /3, /4, /5 and 1 more)\n"},
		"held deletes": {`{"marker_ok":true}`, reconcile.Report{HeldDeletes: 9}, exitcode.EditsKept,
			"memfs: /mnt/a: 9 deletes are held because they concern most of the store: memfs sync /mnt/a --allow-deletes sends them\n"},
		"marker": {`{}`, reconcile.Report{MarkerBad: true}, exitcode.EditsKept,
			"memfs: /mnt/a: the marker file is missing or altered, nothing is synced: memfs repair /mnt/a\n"},
		"credential": {`{"marker_ok":true,"sync":{"frozen":true}}`, reconcile.Report{}, exitcode.Unreachable,
			"memfs: /mnt/a: the store refused the credential for a write, edits wait: give memfs a key that may write\n"},
		"an earlier pass failed": {`{"marker_ok":true,"sync":{"error":"no route"}}`, reconcile.Report{}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			a := &app{stderr: &stderr}
			code, err := a.tellLeft(control.Report{}, []control.Synced{{Mount: control.Mount{Path: "/mnt/a", Status: []byte(c.status)}, Report: c.report}})
			require.NoError(t, err)
			assert.Equal(t, c.code, code)
			assert.Equal(t, c.says, stderr.String())
		})
	}
	assert.Empty(t, notesLeft(view(func(s *memfs.Status) { s.Panics = 1 }), reconcile.Report{}), "that is for status")
}

// TestR10_WhatAReadOnlyStoreHoldsIsNoFailure: local changes there are never
// sent, and nobody has to do anything about it.
func TestR10_WhatAReadOnlyStoreHoldsIsNoFailure(t *testing.T) {
	view := mountView{Status: &memfs.Status{}}
	view.Status.MarkerOK, view.Status.Held = true, 1
	assert.Len(t, notesOf(view), 1)
	view.Status.ReadOnly = true
	assert.Empty(t, notesOf(view))
}
