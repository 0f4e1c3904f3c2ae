//go:build linux

package soak

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs"
	"memfs/integration/benchchild"
)

// watch looks all the time.
func (w *world) watch() {
	for _, m := range w.mounts() {
		w.agents.Go(func() { w.waiting(m) })
	}
	w.agents.Go(w.stalls.run(w.ctx.Done()))
	w.agents.Go(w.count)
	w.agents.Go(w.listen)
}

// startProber starts the process that does what local file operations are.
func (w *world) startProber() {
	var paths []string
	for _, m := range w.mounts() {
		paths = append(paths, m.path)
	}
	var err error
	w.prober, err = benchchild.Start(probeWord, probeConfig{paths}, &probeAnswer{})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, w.prober.End()) })
}

// listen judges what the prober remarks.
func (w *world) listen() {
	for ; !w.over(); time.Sleep(time.Second) {
		w.turn(func() { w.ask(false) })
	}
}

// ask asks the prober, and has it stand still or go on.
func (w *world) ask(pause bool) {
	var answer probeAnswer
	if !assert.NoError(w.t, w.prober.Ask(probeOrder{pause}, &answer)) {
		return
	}
	for _, m := range w.mounts() {
		for _, r := range append(answer.Remarks, answer.Waiting...) {
			if r.Mount != m.path || !m.throughout(r.Began) || m.gone() {
				continue
			}
			if r.Took > opMost+2*r.Stall {
				w.t.Errorf("m%d: at %s %s took %v (the host stood still for %v)", m.n, r.Began.Format(time.TimeOnly+".000"), r.Op, r.Took, r.Stall)
			}
			if r.Errno != 0 {
				w.excuse(m, "probe "+r.Op, r.Errno)
			}
		}
	}
}

// waiting looks whether the kernel waits for an answer for too long. A content
// that is fetched may take its time (R14).
func (w *world) waiting(m *mount) {
	const most = 30 * time.Second
	var since time.Time
	var before string
	for ; !w.over(); time.Sleep(100 * time.Millisecond) {
		_, up := m.alive()
		n, connection, err := w.waitingOf(m)
		if !up || err != nil || n == "0" || connection != before {
			since, before = time.Now(), connection
			continue
		}
		took := time.Since(since)
		if took > most {
			time.Sleep(time.Second) // until a stall is known
		}
		if stall := w.stalls.since(since); took > most+2*stall {
			w.t.Errorf("m%d: for %v there was always a request that waits (%s now; the host stood still for %v)", m.n, took, n, stall)
			return
		}
	}
}

// waitingOf is how many requests of a mount wait for an answer.
func (w *world) waitingOf(m *mount) (n, connection string, err error) {
	_, connection, err = stacked(m.path)
	if err != nil || connection == "" || w.connections == "" {
		return "0", "", err
	}
	text, err := os.ReadFile(filepath.Join(w.connections, connection, "waiting"))
	return strings.TrimSpace(string(text)), connection, err
}

// count asks for the status, which must add up (R20).
func (w *world) count() {
	for ; !w.over(); time.Sleep(3 * time.Second) {
		w.turn(func() {
			for _, s := range w.status() {
				assert.Zero(w.t, s.Panics, s.MountPath)
				assert.True(w.t, s.MarkerOK, s.MountPath)
				assert.Equal(w.t, s.Memories, s.Clean+s.Remote+s.Dirty+s.Refused+s.Held, "R20: %+v", s)
			}
		})
	}
}

// status is what memfs status says of the mounts that are up.
func (w *world) status() map[string]memfs.Status {
	code, out, stderr, err := w.processes[0].run("status", "--json")
	if err != nil || code != 0 {
		w.t.Errorf("memfs status: %d %v %s", code, err, stderr)
		return nil
	}
	var views []struct {
		Mount  string
		Status *memfs.Status
	}
	if err := json.Unmarshal([]byte(out), &views); err != nil {
		w.t.Errorf("memfs status: %v", err)
	}
	all := map[string]memfs.Status{}
	for _, v := range views {
		if v.Status != nil && strings.HasPrefix(v.Mount, w.dir) {
			all[v.Mount] = *v.Status
		}
	}
	return all
}

// bound closes over when something takes too long for a host that stood still as
// this one did. The caller calls done when it is over.
func (w *world) bound(began time.Time, most time.Duration, over chan<- struct{}) (done func()) {
	ended := make(chan struct{})
	go func() {
		for time.Since(began) < most+2*w.stalls.since(began) {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
			}
		}
		close(over)
	}()
	return sync.OnceFunc(func() { close(ended) })
}
