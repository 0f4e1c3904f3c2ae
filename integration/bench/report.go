//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The peers, and columns of the table.
const (
	ours      = "memfs"
	official  = "official"
	rcloned   = "rclone"
	plain     = "ext4"
	journaled = "ext4, journal"
)

var columns = []string{ours, official, plain, journaled, rcloned}

// report is everything measured.
type report struct {
	Began      time.Time `json:"began"`
	Took       float64   `json:"seconds"`
	CPUs       int       `json:"cpus"`
	Go         string    `json:"go"`
	LoadBefore string    `json:"load_before"`
	LoadAfter  string    `json:"load_after"`
	Notes      []string  `json:"notes,omitempty"`
	Rows       []*row    `json:"rows"`
	Targets    []verdict `json:"targets"`
}

// row is one figure of each peer.
type row struct {
	Group   string               `json:"group"`
	Name    string               `json:"name"`
	Unit    string               `json:"unit"`
	Peers   map[string]figure    `json:"peers"`
	Samples map[string][]float64 `json:"samples"` // in the order of the rounds
}

// figure is what a row says of a peer.
type figure struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	// Times is how many times memfs's figure it is: the median of the rounds'
	// ratios, which noise that lasts over a round does not move.
	Times float64 `json:"times_memfs,omitempty"`
}

func newReport() *report {
	return &report{Began: time.Now(), CPUs: runtime.NumCPU(), Go: runtime.Version(), LoadBefore: loadAverage()}
}

func (r *report) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// add takes in a sample. Rows stand in the order in which they came.
func (r *report) add(group, name, unit, peer string, value float64) {
	found := r.row(group, name, unit)
	if found == nil {
		found = &row{Group: group, Name: name, Unit: unit, Samples: make(map[string][]float64)}
		r.Rows = append(r.Rows, found)
	}
	found.Samples[peer] = append(found.Samples[peer], value)
}

// addCost takes in a cost as three rows.
func (r *report) addCost(group, name, peer string, c cost) {
	r.add(group, name, seconds, peer, c.seconds)
	r.add(group, name, requests, peer, float64(c.requests))
	r.add(group, name, cpuMillis, peer, c.cpuMillis)
}

// The units.
const (
	seconds   = "s"
	requests  = "requests"
	cpuMillis = "ms CPU"
	micros    = "µs"
	megabytes = "MB"
)

func (r *report) row(group, name, unit string) *row {
	for _, x := range r.Rows {
		if x.Group == group && x.Name == name && x.Unit == unit {
			return x
		}
	}
	return nil
}

func (r *report) finish() {
	r.LoadAfter, r.Took = loadAverage(), time.Since(r.Began).Seconds()
	for _, x := range r.Rows {
		x.Peers = make(map[string]figure)
		for peer, samples := range x.Samples {
			f := figure{Median: median(samples), Min: slices.Min(samples)}
			if peer != ours {
				f.Times = times(samples, x.Samples[ours])
			}
			x.Peers[peer] = f
		}
	}
	r.Targets = r.judge()
}

// times is the median of the rounds' ratios, or the ratio of the medians where
// the two have not had the same rounds; 0 where there is nothing to divide by.
func times(of, to []float64) float64 {
	if len(of) != len(to) {
		of, to = []float64{median(of)}, []float64{median(to)}
	}
	var all []float64
	for i := range of {
		if to[i] > 0 {
			all = append(all, of[i]/to[i])
		}
	}
	return median(all)
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%s, %d CPUs, load average %s before and %s after, %.0f s\n", r.Go, r.CPUs, r.LoadBefore, r.LoadAfter, r.Took)
	fmt.Fprintln(out, "Medians, the least in parentheses; × is how many times memfs's figure it is: over 1, memfs needs less.")
	for i := 0; i < len(r.Rows); {
		group := r.Rows[i:]
		if end := slices.IndexFunc(group, func(x *row) bool { return x.Group != group[0].Group }); end > 0 {
			group = group[:end]
		}
		printGroup(out, group)
		i += len(group)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, "*", note)
	}
	r.printTargets(out)
}

// printGroup prints the rows with the columns of those that are in them.
func printGroup(out io.Writer, rows []*row) {
	var peers []string
	for _, peer := range columns {
		if slices.ContainsFunc(rows, func(x *row) bool { return len(x.Samples[peer]) > 0 }) {
			peers = append(peers, peer)
		}
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\t\t", rows[0].Group)
	for _, peer := range peers {
		fmt.Fprintf(w, "%s\t", peer)
		if peer != ours {
			fmt.Fprint(w, "×\t")
		}
	}
	fmt.Fprintln(w)
	last := ""
	for _, x := range rows {
		name := x.Name
		if name == last {
			name = ""
		}
		last = x.Name
		fmt.Fprintf(w, "%s\t%s\t", name, x.Unit)
		for _, peer := range peers {
			fmt.Fprintf(w, "%s\t", x.cell(peer))
			if peer != ours {
				fmt.Fprintf(w, "%s\t", number(x.Peers[peer].Times))
			}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // what goes to the terminal
}

func (x *row) cell(peer string) string {
	f, there := x.Peers[peer]
	if !there {
		return "-"
	}
	if text := number(f.Median); len(x.Samples[peer]) < 2 || number(f.Min) == text {
		return text
	}
	return fmt.Sprintf("%s (%s)", number(f.Median), number(f.Min))
}

// number has three digits that matter.
func number(x float64) string {
	switch {
	case x == 0:
		return "-"
	case x >= 100 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
