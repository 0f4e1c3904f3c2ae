package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"memfs"
)

// printStatus prints one line for each mount, or all that is known, and below
// it what to do.
func printStatus(out io.Writer, mounts []mountView, all bool, now time.Time) error {
	if len(mounts) == 0 {
		_, err := fmt.Fprintln(out, "nothing is mounted")
		return err
	}
	var text strings.Builder
	if all {
		for _, m := range mounts {
			printMount(&text, m, now)
		}
	} else {
		printTable(&text, mounts, now)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func printTable(out *strings.Builder, mounts []mountView, now time.Time) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "PATH\tSTORE\tACCESS\tMEMORIES\tDIRTY\tDELETED\tSENDING\tHELD\tREFUSED\tCONFLICTS\tSCRATCH\tUNFETCHED\tOLDEST UNSENT\tLAST PASS\tNEXT")
	var notes strings.Builder
	for _, m := range mounts {
		if s := m.Status; s == nil {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", m.Mount, m.StoreID, "-")
		} else {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", m.Mount, cmp.Or(s.StoreName, s.StoreID), access(s),
				s.Memories, s.Dirty, s.Deleted, s.Sending, s.Held, s.Refused, s.Conflicts, s.Scratch, s.Remote,
				span(s.OldestUnsent, now), ago(s.Sync.Last.Ended, now), until(s.Sync.Next, now))
		}
		for _, n := range m.Notes {
			_, _ = fmt.Fprintf(&notes, "%s: %s\n", m.Mount, n)
		}
	}
	_ = w.Flush() // into memory
	out.WriteString(notes.String())
}

// printMount prints all that is known of one mount.
func printMount(out *strings.Builder, m mountView, now time.Time) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	_, _ = fmt.Fprintln(w, m.Mount)
	if s := m.Status; s != nil {
		row("store", "%s, %s", labelled(s.StoreName, s.StoreID), access(s))
		if m.PID != 0 {
			row("process", "%d, version %s, for %s", m.PID, m.Version, span(m.Started, now))
		}
		row("memories", "%d: %d clean, %d unfetched, %d dirty, %d held, %d refused", s.Memories, s.Clean, s.Remote, s.Dirty, s.Held, s.Refused)
		row("unsent", "%d dirty, %d deleted, %d written to replaced files; the oldest for %s", s.Dirty, s.Deleted, s.Strays, span(s.OldestUnsent, now))
		row("sending", "%d", s.Sending)
		row("held", "%d files, %d deletes; %d deletes are not sent by choice", s.Held, s.Sync.Last.HeldDeletes, s.Sync.Last.SuppressedDeletes)
		row("conflicts", "%d", s.Conflicts)
		row("scratch", "%d, %s", s.Scratch, humanize.IBytes(uint64(max(s.ScratchBytes, 0))))
		row("journal", "%s", humanize.IBytes(uint64(max(s.JournalBytes, 0))))
		last, total := s.Sync.Last, s.Sync.Total
		row("last pass", "%s: %d pushed, %d deleted, %d pulled, %d conflicts, %d requests, took %s", ago(last.Ended, now),
			last.Pushed, last.Deleted, last.Pulled, last.Conflicts, last.Requests, last.Ended.Sub(last.Began).Round(time.Millisecond))
		row("next pass", "%s", until(s.Sync.Next, now))
		row("since start", "%d passes, %d failed; %d pushed, %d deleted, %d pulled, %d conflicts, %d requests",
			total.Passes, total.Failed, total.Pushed, total.Deleted, total.Pulled, total.Conflicts, total.Requests)
	} else {
		row("store", "%s", m.StoreID)
	}
	for _, n := range m.Notes {
		row("attention", "%s", n)
	}
	_ = w.Flush() // into memory
}

func access(s *memfs.Status) string {
	if s.ReadOnly {
		return "read"
	}
	return "write"
}

func labelled(name, id string) string {
	if name == "" {
		return id
	}
	return name + " (" + id + ")"
}

// span is how long ago t was; "-" where it never was.
func span(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return max(now.Sub(t), 0).Round(time.Second).String()
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return span(t, now) + " ago"
}

func until(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case !t.After(now):
		return "now"
	}
	return "in " + t.Sub(now).Round(time.Second).String()
}
