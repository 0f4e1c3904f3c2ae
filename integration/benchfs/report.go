//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"
)

// report is everything measured.
type report struct {
	Began      time.Time `json:"began"`
	Took       float64   `json:"seconds"`
	CPUs       int       `json:"cpus"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	Go         string    `json:"go"`
	LoadBefore string    `json:"load_before"`
	LoadAfter  string    `json:"load_after"`
	Notes      []string  `json:"notes"`

	Rounds map[string]map[string][]float64 `json:"rounds,omitempty"` // operation → filesystem → µs by round
	Lines  []line                          `json:"lines,omitempty"`
	Idle   []idleFigures                   `json:"idle,omitempty"`
	Memory *memoryFigures                  `json:"memory,omitempty"`
	Attach []attachFigures                 `json:"attach,omitempty"`
}

// line is one operation: medians in µs, and the medians of each round's ratio.
type line struct {
	Operation      string  `json:"operation"`
	Memfs          float64 `json:"memfs"`
	Ext4           float64 `json:"ext4,omitempty"`
	Journaled      float64 `json:"journaled_ext4,omitempty"`
	ToExt4         float64 `json:"ratio_ext4,omitempty"`
	ToJournaled    float64 `json:"ratio_journaled_ext4,omitempty"`
	Target         float64 `json:"target,omitempty"`
	WithinTheRatio bool    `json:"target_met"`
}

type idleFigures struct {
	Interval   string  `json:"interval"`
	Watched    float64 `json:"seconds"`
	CPUMillis  float64 `json:"cpu_ms"`
	Jiffies    int64   `json:"jiffies"`
	Switches   int64   `json:"context_switches"`
	Requests   int     `json:"requests"`
	ResidentMB float64 `json:"resident_mb"`
	PrivateMB  float64 `json:"private_mb"` // without the pages of the program's file
	Threads    int     `json:"threads"`
}

type memoryFigures struct {
	Stores        int     `json:"stores"`
	Memories      int     `json:"memories_each"`
	AttachSeconds float64 `json:"attach_seconds"`
	Requests      int     `json:"requests"`
	AttachedMB    float64 `json:"resident_attached_mb"`
	SettledMB     float64 `json:"resident_settled_mb"`
	PeakMB        float64 `json:"resident_peak_mb"`
}

type attachFigures struct {
	Memories      int     `json:"memories"`
	Directories   int     `json:"directories"`
	LatencyMillis int64   `json:"latency_ms"`
	Seconds       float64 `json:"seconds"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	Requests      int     `json:"requests"`
}

func newReport() *report {
	return &report{Began: time.Now(), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), Go: runtime.Version(), LoadBefore: loadAverage(),
		Rounds: make(map[string]map[string][]float64)}
}

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// add takes in the figures of a round.
func (r *report) add(f figures) {
	for op, byPlace := range f {
		if r.Rounds[op] == nil {
			r.Rounds[op] = make(map[string][]float64)
		}
		for place, micros := range byPlace {
			r.Rounds[op][place] = append(r.Rounds[op][place], micros)
		}
	}
}

func (r *report) finish() {
	r.LoadAfter, r.Took = loadAverage(), time.Since(r.Began).Seconds()
	rows := operations
	for _, name := range []string{coldStat, coldRead, fetchRead} {
		rows = append(rows[:len(rows):len(rows)], operation{name: name})
	}
	for _, op := range rows {
		byPlace := r.Rounds[op.name]
		if byPlace == nil {
			continue
		}
		l := line{Operation: op.name, Memfs: median(byPlace[onMemfs]), Ext4: median(byPlace[onExt4]), Journaled: median(byPlace[onJournaled]),
			ToExt4: ratio(byPlace[onMemfs], byPlace[onExt4]), ToJournaled: ratio(byPlace[onMemfs], byPlace[onJournaled]), Target: op.target}
		l.WithinTheRatio = l.Target == 0 || l.ToExt4 <= l.Target
		r.Lines = append(r.Lines, l)
	}
}

// ratio is the median of the rounds' ratios, which noise that lasts over a
// round does not move.
func ratio(of, to []float64) float64 {
	var all []float64
	for i := range min(len(of), len(to)) {
		all = append(all, of[i]/to[i])
	}
	return median(all)
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%s, GOMAXPROCS %d of %d CPUs, load average %s before and %s after, %.0f s\n",
		r.Go, r.GOMAXPROCS, r.CPUs, r.LoadBefore, r.LoadAfter, r.Took)
	for _, note := range r.Notes {
		fmt.Fprintln(out, note)
	}
	r.printLines(out)
	for _, i := range r.Idle {
		fmt.Fprintf(out, "idle for %.0f s, interval %s: %.1f ms CPU (%d jiffies), %d context switches, %d requests, %.1f MB resident (target 20), %.1f MB without the program's file, %d threads\n",
			i.Watched, i.Interval, i.CPUMillis, i.Jiffies, i.Switches, i.Requests, i.ResidentMB, i.PrivateMB, i.Threads)
	}
	if m := r.Memory; m != nil {
		fmt.Fprintf(out, "%d stores of %d memories, no content: %.0f MB resident (target 200), %.0f MB once attached, %.0f MB at most; attached in %.1f s with %d requests\n",
			m.Stores, m.Memories, m.SettledMB, m.AttachedMB, m.PeakMB, m.AttachSeconds, m.Requests)
	}
	for _, a := range r.Attach {
		fmt.Fprintf(out, "attach of %d memories in %d directories, %d ms a request: %.2f s, %.2f s CPU, %d requests\n",
			a.Memories, a.Directories, a.LatencyMillis, a.Seconds, a.CPUSeconds, a.Requests)
	}
}

func (r *report) printLines(out io.Writer) {
	if len(r.Lines) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "median µs an operation\tmemfs\text4\tjournaled ext4\t× ext4\t× journaled\ttarget\t\t")
	for _, l := range r.Lines {
		verdict := ""
		if !l.WithinTheRatio {
			verdict = "missed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", l.Operation, number(l.Memfs), number(l.Ext4), number(l.Journaled),
			number(l.ToExt4), number(l.ToJournaled), number(l.Target), verdict)
	}
	_ = w.Flush() // what goes to the terminal
}

// number leaves out what was not measured.
func number(x float64) string {
	switch {
	case x == 0:
		return "-"
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
