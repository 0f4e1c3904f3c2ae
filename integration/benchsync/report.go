//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything measured.
type report struct {
	Began      time.Time `json:"began"`
	Took       float64   `json:"seconds"`
	CPUs       int       `json:"cpus"`
	Go         string    `json:"go"`
	LoadBefore string    `json:"load_before"`
	LoadAfter  string    `json:"load_after"`
	Notes      []string  `json:"notes,omitempty"`
	Lines      []line    `json:"lines"`
}

// line is one row: what it cost both peers, and how many times more it cost the
// official one.
type line struct {
	Store         string  `json:"store"`
	LatencyMillis int64   `json:"latency_ms"`
	Row           string  `json:"row"`
	Official      figures `json:"official"`
	Memfs         figures `json:"memfs"`
	Ratio         figures `json:"ratio"`
	Target        string  `json:"target,omitempty"`
	Missed        bool    `json:"target_missed"`
}

func newReport() *report {
	return &report{Began: time.Now(), CPUs: runtime.NumCPU(), Go: runtime.Version(), LoadBefore: loadAverage()}
}

func (r *report) finish() { r.Took, r.LoadAfter = time.Since(r.Began).Seconds(), loadAverage() }

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *report) add(s shape, latency time.Duration, both map[string]measured, rows ...string) {
	for _, row := range rows {
		_, one := both[official][row]
		_, other := both[ours][row]
		if !one && !other {
			continue
		}
		l := line{Store: s.name, LatencyMillis: latency.Milliseconds(), Row: row, Official: both[official][row], Memfs: both[ours][row]}
		l.Ratio = figures{ratio(l.Official.Seconds, l.Memfs.Seconds), 0, ratio(l.Official.CPUMillis, l.Memfs.CPUMillis)}
		if one && other {
			l.judge(s)
		}
		r.Lines = append(r.Lines, l)
	}
}

func ratio(of, to float64) float64 {
	if to == 0 {
		return 0
	}
	return of / to
}

// judge holds a row against its target.
func (l *line) judge(s shape) {
	switch {
	case l.Row == rowReady && s.name == flat.name:
		l.Target, l.Missed = "time ≥ 4.5×", l.Ratio.Seconds < 4.5
	case l.Row == rowReady:
		l.Target, l.Missed = "time ≥ 10×", l.Ratio.Seconds < 10
	case l.Row == rowIdle:
		l.Target, l.Missed = "1 request, CPU ≥ 10×", l.Memfs.Requests != 1 || l.Ratio.CPUMillis < 10
	case l.Row == rowEdit:
		l.Target, l.Missed = "≤ 3 requests", l.Memfs.Requests > 3
	}
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%s, %d CPUs, load average %s before and %s after, %.0f s\n", r.Go, r.CPUs, r.LoadBefore, r.LoadAfter, r.Took)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tofficial\t\t\tmemfs\t\t\tofficial/memfs\t\t\t\t")
	fmt.Fprintln(w, "\ts\trequests\tCPU ms\ts\trequests\tCPU ms\ttime\tCPU\ttarget\t\t")
	last := ""
	for _, l := range r.Lines {
		if head := fmt.Sprintf("%s, %d ms a request", l.Store, l.LatencyMillis); head != last {
			fmt.Fprintf(w, "%s\t\t\t\t\t\t\t\t\t\t\t\n", head)
			last = head
		}
		verdict := ""
		if l.Missed {
			verdict = "missed"
		}
		fmt.Fprintf(w, "%s\t%.3f\t%d\t%.1f\t%.3f\t%d\t%.1f\t%.1f×\t%.1f×\t%s\t%s\t\n", l.Row,
			l.Official.Seconds, l.Official.Requests, l.Official.CPUMillis, l.Memfs.Seconds, l.Memfs.Requests, l.Memfs.CPUMillis,
			l.Ratio.Seconds, l.Ratio.CPUMillis, l.Target, verdict)
	}
	_ = w.Flush() // what goes to the terminal
	for _, n := range r.Notes {
		fmt.Fprintln(out, n)
	}
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
