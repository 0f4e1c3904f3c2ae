//go:build linux

package soak

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"memfs"
)

// opMost bounds a local file operation, as a bound on hangs.
const opMost = 3 * time.Second

// watch looks all the time.
func (w *world) watch() {
	for _, m := range w.mounts() {
		w.agents.Go(func() { w.probe(m) })
		w.agents.Go(func() { w.waiting(m) })
	}
	w.agents.Go(w.stalls.run(w.ctx.Done()))
	w.agents.Go(w.count)
}

// probe does what a local file operation is, over and over: none of it needs
// the store.
func (w *world) probe(m *mount) {
	file := filepath.Join(m.path, "probe~")
	ops := []struct {
		name string
		do   func() error
	}{
		{"stat", func() error { _, err := os.Stat(m.path); return err }},
		{"readdir", func() error { _, err := os.ReadDir(m.path); return err }},
		{"write", func() error { return os.WriteFile(file, []byte("probe"), 0o600) }},
		{"read", func() error { _, err := os.ReadFile(file); return err }},
		{"rename", func() error { return os.Rename(file, file+"~") }},
		{"unlink", func() error { return os.Remove(file + "~") }},
	}
	cycle := func() {
		for _, op := range ops {
			life, up := m.alive()
			if !up {
				break
			}
			began := time.Now()
			err := op.do()
			took := time.Since(began)
			now, up := m.alive()
			same := now == life && up && !m.gone()
			if took > opMost && same {
				time.Sleep(time.Second) // until a stall is known
				if stall := w.stalls.since(began); took > opMost+2*stall {
					w.t.Errorf("m%d: %s took %v (the host stood still for %v)", m.n, op.name, took, stall)
				}
			}
			if err != nil && same && !errors.Is(err, unix.ENOENT) {
				w.excuse(m, "probe "+op.name, err)
			}
			if err != nil {
				break
			}
		}
	}
	for ; !w.over(); time.Sleep(200 * time.Millisecond) {
		w.turn(cycle)
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

// stalls are times at which this process did nothing at all, for a lack of CPUs
// or of a disk, or as it started a tool: what stood still then is not memfs's.
type stalls struct {
	mu    sync.Mutex
	times []stall
}

type stall struct {
	end  time.Time
	took time.Duration
}

func newStalls() *stalls { return &stalls{} }

// run notices stalls until done.
func (s *stalls) run(done <-chan struct{}) func() {
	return func() {
		const step = 50 * time.Millisecond
		dir, err := os.MkdirTemp("", "soak-control")
		if err != nil {
			return
		}
		defer func() { _ = os.RemoveAll(dir) }()
		for {
			began := time.Now()
			select {
			case <-done:
				return
			case <-time.After(step):
			}
			_ = synced(filepath.Join(dir, "f"))
			if took := time.Since(began) - step; took > step {
				s.mu.Lock()
				s.times = append(s.times, stall{time.Now(), took})
				s.mu.Unlock()
			}
		}
	}
}

// synced writes a file as an agent does that means it.
func synced(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString("control")
	return errors.Join(err, f.Sync(), f.Close())
}

// since is for how long this host stood still since then.
func (s *stalls) since(then time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.times) - 1; i >= 0 && s.times[i].end.After(then); i-- {
		sum += s.times[i].took
	}
	return sum
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
