//go:build linux

package soak

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
)

// usage is what a process holds.
type usage struct {
	private     int64 // bytes of memory that are its own
	descriptors int
	goroutines  int
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f MiB, %d descriptors, %d goroutines", float64(u.private)/(1<<20), u.descriptors, u.goroutines)
}

// checkUsage compares what processes hold with what they held after the first
// round. The bounds are generous, for what grows without end.
func (w *world) checkUsage() {
	w.server.tell(order{Drop: true}) // how many are idle says nothing
	time.Sleep(time.Second)
	for _, p := range w.processes {
		got, err := p.usage()
		if !assert.NoError(w.t, err) {
			continue
		}
		base, known := w.base[p]
		if !known {
			w.base[p] = got
			continue
		}
		if got.private > 2*base.private+48<<20 || got.descriptors > base.descriptors+20 || got.goroutines > base.goroutines+20 {
			w.t.Errorf("%v holds %v; it was %v", p, got, base)
		}
		if p.steady {
			w.note("%v holds %v; it was %v", p, got, base)
		}
	}
}

func (p *process) usage() (u usage, err error) {
	dir := fmt.Sprint("/proc/", p.cmd.Process.Pid)
	open, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return u, err
	}
	u.descriptors = len(open)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "RssAnon:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return u, err
			}
			u.private = kilobytes << 10
		}
	}
	u.goroutines, err = p.goroutines()
	return u, err
}

func (p *process) goroutines() (int, error) {
	address := p.metrics.Load()
	if address == nil {
		return 0, fmt.Errorf("%v serves no metrics", p)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + *address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if n, found := strings.CutPrefix(lines.Text(), "go_goroutines "); found {
			return strconv.Atoi(n)
		}
	}
	return 0, fmt.Errorf("%v says nothing of goroutines", p)
}
