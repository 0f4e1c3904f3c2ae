package main

import (
	"cmp"
	"errors"
	"fmt"

	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
)

// note says what keeps a mount from being in step with its store, and what to
// do about it.
type note struct {
	// Code is that of the event in the log.
	Code    string `json:"code"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy,omitempty"`
	// exit is the code with which --check=synced ends; 0 for what nobody has to
	// do something about at once.
	exit int
}

func (n note) String() string {
	if n.Remedy == "" {
		return n.Problem
	}
	return n.Problem + ": " + n.Remedy
}

// notesOf are the notes of one mount.
func notesOf(m mountView) []note {
	if m.Status == nil {
		return []note{{Code: "unserved", Problem: m.Fault, exit: exitcode.Failed}}
	}
	s := m.Status
	var notes []note
	add := func(applies bool, n note) {
		if applies {
			notes = append(notes, n)
		}
	}
	add(s.Unmounted, note{"mount_busy", "it is unmounted, and served for those who still use it only",
		"end them, then mount anew", exitcode.Failed})
	add(s.Panics > 0, note{"panic", "memfs failed in " + count(s.Panics, "file operation", "file operations"),
		"mount anew; the log has the details", exitcode.Failed})
	add(s.Sync.Error != "", note{"sync_failed", "the last pass failed: " + oneLine(s.Sync.Error),
		"it is tried again by itself; edits wait in the journal", exitcode.Unreachable})
	add(s.Sync.Frozen, note{"frozen", "the store refused the credential for a write, edits wait",
		"give memfs a key that may write", exitcode.Unreachable})
	add(!s.MarkerOK, note{"marker", "the marker file is missing or altered, nothing is synced",
		"memfs repair " + m.Mount, exitcode.EditsKept})
	add(s.Sync.Archived, note{"store_archived", "the store is archived, edits wait", "attach another store", exitcode.EditsKept})
	add(s.Sync.Full, note{"store_full", "the store is full, new memories wait", "delete memories", exitcode.EditsKept})
	add(s.Sync.Last.HeldDeletes > 0, note{"mass_delete",
		count(s.Sync.Last.HeldDeletes, "delete is", "deletes are") + " held because they concern most of the store",
		"memfs sync " + m.Mount + " --allow-deletes sends them", exitcode.EditsKept})
	add(s.Refused > 0, note{"refused", count(s.Refused, "file is", "files are") + " refused by the store",
		"change what memfs inspect FILE names; it stays here as it is", exitcode.EditsKept})
	// In a read-only store every local change is held, as it should be (R10).
	add(s.Held > 0 && !s.ReadOnly, note{"held", count(s.Held, "file is", "files are") + " held back", "memfs inspect FILE says why", exitcode.EditsKept})
	add(s.Conflicts > 0, note{"conflict", count(s.Conflicts, "text", "texts") + " lost against the store", "memfs conflicts list", 0})
	add(s.Sync.Hidden > 0, note{"hidden", count(s.Sync.Hidden, "memory has a path", "memories have paths") + " that no file can have", "", 0})
	return notes
}

// count is a number and the word that goes with it.
func count[N int | int64](n N, single, many string) string {
	return fmt.Sprintf("%d %s", n, word(n, single, many))
}

func word[N int | int64](n N, single, many string) string {
	if n == 1 {
		return single
	}
	return many
}

// summary is how a process's mounts are, in one line.
func summary(r control.Report) string {
	unsent := 0
	said := ""
	for _, m := range r.Mounts {
		view, err := viewOfMount(r, m)
		if err != nil {
			continue // the process wrote it itself
		}
		unsent += view.Status.Dirty + view.Status.Deleted + view.Status.Strays
		if notes := notesOf(view); said == "" && len(notes) > 0 {
			said = fmt.Sprintf("; %s: %s", m.Path, notes[0])
		}
	}
	return fmt.Sprintf("%s, %s unsent%s", count(len(r.Mounts), "mount", "mounts"), count(unsent, "edit", "edits"), said)
}

// check is the answer to a probe: an error with the first exit code that one of
// the mounts deserves. No mount at all is a failure.
func check(mounts []mountView, what string) error {
	if len(mounts) == 0 {
		return exitcode.Errorf(exitcode.Failed, "nothing is mounted by memfs")
	}
	code := exitcode.OK
	var errs []error
	for _, m := range mounts {
		for _, n := range m.Notes {
			if n.exit == exitcode.OK || what == checkLive && n.exit != exitcode.Failed {
				continue
			}
			code = cmp.Or(code, n.exit)
			errs = append(errs, fmt.Errorf("%s: %s", m.Mount, n))
		}
	}
	return exitcode.With(code, errors.Join(errs...))
}
