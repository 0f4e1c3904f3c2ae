//go:build linux

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// verdict is one target, and what was measured.
type verdict struct {
	Target string  `json:"target"`
	Bound  float64 `json:"bound"`
	Most   bool    `json:"at_most"` // the bound; at least, where false
	Got    float64 `json:"got"`
	Met    bool    `json:"met"`
}

// judge compares what was measured with what memfs is to reach. What was not
// measured is left out. A target that is missed fails nothing.
func (r *report) judge() (all []verdict) {
	say := func(target string, most bool, bound, got float64) {
		if got > 0 {
			all = append(all, verdict{target, bound, most, got, most && got <= bound || !most && got >= bound})
		}
	}
	for _, latency := range latencies {
		for _, s := range []struct {
			shape
			sooner float64
		}{{flat, 4.5}, {deep, 10}} {
			group := sessionGroup(s.shape, latency)
			say("ready sooner than official, "+group, false, s.sooner, r.times(group, rowReady, seconds, official))
			say("requests of an idle pass, "+group, true, 1, r.median(group, rowIdle, requests))
			say("CPU of official's idle pass, "+group, false, 10, r.times(group, rowIdle, cpuMillis, official))
			say("requests of a pass with one edit, "+group, true, 3, r.median(group, rowEdit, requests))
		}
	}
	for _, op := range operations {
		if to := r.times(filesGroup, op.name, micros, plain); op.target > 0 && to > 0 {
			say("of ext4: "+op.name, true, op.target, 1/to)
		}
	}
	say("MB resident, idle mount", true, 20, r.median(idleGroup, rowResident, megabytes))
	say("MB resident, 8 stores of 10,000", true, 200, r.median(memoryGroup, rowSettled, megabytes))
	return all
}

func (r *report) median(group, name, unit string) float64 {
	if x := r.row(group, name, unit); x != nil {
		return x.Peers[ours].Median
	}
	return 0
}

func (r *report) times(group, name, unit, peer string) float64 {
	if x := r.row(group, name, unit); x != nil {
		return x.Peers[peer].Times
	}
	return 0
}

func (r *report) printTargets(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range r.Targets {
		sign, met := "≥", "met"
		if v.Most {
			sign = "≤"
		}
		if !v.Met {
			met = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\n", v.Target, sign, number(v.Bound), number(v.Got), met)
	}
	_ = w.Flush() // what goes to the terminal
}
