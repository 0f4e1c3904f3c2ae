package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"memfs"
	"memfs/cmd/memfs/internal/visible"
	"memfs/fs"
)

// printStatus prints one line for each mount, or all that is known, and below
// it what to do. The width is that of the terminal; 0 for none.
func printStatus(out io.Writer, mounts []mountView, all bool, width int, now time.Time) error {
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
		printTable(&text, mounts, width, now)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func printTable(out *strings.Builder, mounts []mountView, width int, now time.Time) {
	rows := [][]string{{"PATH", "STORE", "ACCESS", "MEMORIES", "DIRTY", "DELETED", "SENDING", "HELD", "HELD DELETES", "REFUSED", "CONFLICTS", "SCRATCH", "UNFETCHED",
		"OLDEST UNSENT", "LAST PASS", "NEXT", "JOURNAL", "REQUESTS", "SLOWEST"}}
	var notes strings.Builder
	for _, m := range mounts {
		if s := m.Status; s == nil {
			rows = append(rows, []string{visible.Line(m.Mount), visible.Line(m.StoreID), "-"})
		} else {
			row := []string{visible.Line(m.Mount), visible.Line(cmp.Or(s.StoreName, s.StoreID)), access(s)}
			for _, n := range []int{s.Memories, s.Dirty, s.Deleted, s.Sending, s.Held, s.Sync.Last.HeldDeletes, s.Refused, s.Conflicts, s.Scratch, s.Remote} {
				row = append(row, strconv.Itoa(n))
			}
			rows = append(rows, append(row, span(s.OldestUnsent, now), ago(s.Sync.Last.Ended, now), until(s.Sync.Next, now),
				size(s.JournalBytes), strconv.FormatInt(s.Sync.Total.Requests, 10), slowest(s.Slowest)))
		}
		for _, n := range m.Notes {
			_, _ = fmt.Fprintln(&notes, visible.Line(m.Mount+": "+n.String()))
		}
	}
	table := aligned(rows)
	if first, _, _ := strings.Cut(table, "\n"); width > 0 && len(first) > width {
		table = aligned(telling(rows))
	}
	out.WriteString(table)
	out.WriteString(notes.String())
}

func aligned(rows [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	return out.String()
}

// figures are the last columns: they are good to know and ask for nothing.
const figures = 3

// telling are rows without the figures, and without the columns that have
// nothing to tell, for a terminal that all of them do not fit on.
func telling(rows [][]string) [][]string {
	kept := make([][]string, len(rows))
	for column := range len(rows[0]) - figures {
		told := column < 4 // what there is, and where
		for _, row := range rows[1:] {
			told = told || column < len(row) && row[column] != "0" && row[column] != "-"
		}
		for i, row := range rows {
			if told && column < len(row) {
				kept[i] = append(kept[i], row[column])
			}
		}
	}
	return kept
}

// printMount prints all that is known of one mount.
func printMount(out *strings.Builder, m mountView, now time.Time) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "  %s\t%s\n", name, visible.Line(fmt.Sprintf(format, args...)))
	}
	_, _ = fmt.Fprintln(w, visible.Line(m.Mount))
	if s := m.Status; s != nil {
		row("store", "%s, %s", labelled(s.StoreName, s.StoreID), access(s))
		if m.PID != 0 {
			row("process", "%d, version %s, for %s", m.PID, m.Version, span(m.Started, now))
		}
		row("memories", "%d: %d clean, %d unfetched, %d dirty, %d held, %d refused", s.Memories, s.Clean, s.Remote, s.Dirty, s.Held, s.Refused)
		row("unsent", "%d dirty, %d deleted, %d written to replaced files; the oldest for %s", s.Dirty, s.Deleted, s.Strays, span(s.OldestUnsent, now))
		row("sending", "%d", s.Sending)
		row("held", "%s, %s; %s not sent by choice", count(s.Held, "file", "files"), count(s.Sync.Last.HeldDeletes, "delete", "deletes"),
			count(s.Sync.Last.SuppressedDeletes, "delete is", "deletes are"))
		row("conflicts", "%d", s.Conflicts)
		row("scratch", "%d, %s", s.Scratch, size(s.ScratchBytes))
		row("journal", "%s", size(s.JournalBytes))
		last, total := s.Sync.Last, s.Sync.Total
		row("last pass", "%s: %d pushed, %d deleted, %d pulled, %s, %s, took %s", ago(last.Ended, now),
			last.Pushed, last.Deleted, last.Pulled, count(last.Conflicts, "conflict", "conflicts"), count(last.Requests, "request", "requests"), last.Ended.Sub(last.Began).Round(time.Millisecond))
		row("next pass", "%s", until(s.Sync.Next, now))
		row("since start", "%s, %d failed; %d pushed, %d deleted, %d pulled, %s, %s", count(total.Passes, "pass", "passes"),
			total.Failed, total.Pushed, total.Deleted, total.Pulled, count(total.Conflicts, "conflict", "conflicts"), count(total.Requests, "request", "requests"))
		for _, o := range s.Slowest {
			row("slow", "%s %s took %s, %s", o.Op, o.Path, took(o), ago(o.At, now))
		}
	} else {
		row("store", "%s", m.StoreID)
	}
	for _, n := range m.Notes {
		row("attention", "%s", n)
	}
	_ = w.Flush() // into memory
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }

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

// slowest is the first of the slowest operations; "-" where none was slow.
func slowest(list []fs.Slow) string {
	if len(list) == 0 {
		return "-"
	}
	return list[0].Op + " " + took(list[0])
}

func took(o fs.Slow) string {
	return time.Duration(o.Seconds * float64(time.Second)).Round(time.Millisecond).String()
}
