package guard

import (
	"fmt"
	"strings"
)

// Verdict is what a host is good for.
type Verdict string

// The verdicts of a Report.
const (
	// VerdictFUSE: memfs can mount here.
	VerdictFUSE Verdict = "fuse"
	// VerdictDirectorySync: memfs cannot mount, but a worker can copy stores
	// into plain directories, with fewer promises.
	VerdictDirectorySync Verdict = "directory sync"
	// VerdictCannotRun: neither can be done.
	VerdictCannotRun Verdict = "cannot run"
)

// Status is the outcome of one check.
type Status string

// The outcomes of a check. A warning blocks nothing.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail says what was found.
	Detail string `json:"detail"`
	// Remedy says what to do about it; "" where nothing needs doing.
	Remedy string `json:"remedy,omitempty"`
}

// Report is what Doctor found. It marshals to JSON as it stands.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Blockers names the failed checks, the reason for any verdict but fuse.
	Blockers []string `json:"blockers"`
	Checks   []Check  `json:"checks"`
}

// String renders the report for people: a line a check, remedies below the
// checks they belong to, the verdict last.
func (r Report) String() string {
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", c.Status, width, c.Name, c.Detail)
		if c.Remedy != "" {
			fmt.Fprintf(&b, "      %-*s  -> %s\n", width, "", c.Remedy)
		}
	}
	fmt.Fprintf(&b, "verdict: %s", r.Verdict)
	if len(r.Blockers) > 0 {
		fmt.Fprintf(&b, " (blocked: %s)", strings.Join(r.Blockers, ", "))
	}
	return b.String() + "\n"
}
