//go:build linux

package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"memfs/integration/workload"
)

// agent is a worker with a directory of its own in a mount, which nobody else
// changes.
type agent struct {
	*workload.Worker
	m    *mount
	name string
	life int // of the process, that what the worker knows is of
	rng  *rand.Rand
}

const (
	workersEach = 2
	editorsEach = 1 // of each mount in the directory that it shares
)

// work lets all agents go.
func (w *world) work() {
	for _, m := range w.mounts() {
		for k := range workersEach {
			name := fmt.Sprintf("w%d-%d", m.n, k)
			a := &agent{Worker: workload.NewWorker(filepath.Join(m.path, name), w.seed+uint64(m.n*10+k)), m: m, name: name, life: 1, rng: w.random(m.n*10 + k)}
			m.workers = append(m.workers, a)
		}
		for k := range editorsEach {
			m.editors = append(m.editors, workload.NewEditor(fmt.Sprintf("editor %d of m%d", k, m.n), filepath.Join(m.path, fmt.Sprint("pair", k)), w.seed+uint64(500+m.n*10+k)))
		}
		for _, a := range m.workers {
			if err := os.Mkdir(a.Dir, 0o700); err != nil {
				w.t.Errorf("%v", err)
			}
			w.agents.Go(func() { w.agent(a) })
		}
		for k, e := range m.editors {
			w.agents.Go(func() { w.editor(m, e, w.random(700+m.n*10+k)) })
		}
	}
	for _, r := range w.stores {
		if r.writer != nil {
			w.agents.Go(func() { w.write(r.writer) })
		}
	}
}

// over: the agents are to end.
func (w *world) over() bool { return w.ctx.Err() != nil || w.t.Failed() }

// agent lets a worker work until the end.
func (w *world) agent(a *agent) {
	for n := 0; !w.over(); n++ {
		w.turn(func() {
			if !w.caughtUp(a) {
				return
			}
			life := a.life
			err := a.Step()
			if err == nil && n%8 == 0 {
				err = a.Check()
			}
			if err == nil {
				return
			}
			if now, up := a.m.alive(); now == life && up {
				w.excuse(a.m, a.name, err)
			}
			w.settle(a)
		})
		pause(a.rng, 120*time.Millisecond)
	}
}

// turn does something while nobody wants quiet.
func (w *world) turn(f func()) {
	w.quiet.RLock()
	defer w.quiet.RUnlock()
	f()
}

func pause(rng *rand.Rand, most time.Duration) { time.Sleep(time.Duration(rng.Int64N(int64(most)))) }

// excuse reports an error of a file operation, unless there is a reason for it.
func (w *world) excuse(m *mount, who string, err error) {
	switch {
	case errors.Is(err, workload.ErrWrong):
	case m.gone():
		return
	case said(err, unix.ENOSPC) && m.small, said(err, unix.EIO) && (!w.calm.Load() || m.small):
		return // a full disk; a content that cannot be fetched (R14)
	}
	w.t.Errorf("%s: %v", who, err)
}

// gone: the process is not there for sure, as it may have been killed just now.
func (m *mount) gone() bool {
	if _, up := m.alive(); !up {
		return true
	}
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// said reports whether an error is errno, or what a tool says of it.
func said(err error, errno unix.Errno) bool {
	if errors.Is(err, errno) {
		return true
	}
	return errors.Is(err, workload.ErrTool) && (contains(err.Error(), errno.Error()) ||
		errno == unix.EIO && contains(err.Error(), "I/O error")) // dash's words
}

// caughtUp settles what a restart did to the worker's directory; false while
// there is no mount.
func (w *world) caughtUp(a *agent) bool {
	life, up := a.m.alive()
	if !up {
		return false
	}
	return life == a.life || w.settle(a)
}

// settle has the worker go on from what is there. It reports whether it could.
func (w *world) settle(a *agent) bool {
	for began := time.Now(); !w.over(); time.Sleep(100 * time.Millisecond) {
		life, up := a.m.alive()
		if !up {
			return false
		}
		found, err := workload.Clean(a.Dir)
		if errors.Is(err, unix.ENOENT) { // it was empty, and its mount ended properly
			found, err = workload.World{}, os.MkdirAll(a.Dir, 0o700)
		}
		if again, up := a.m.alive(); !up || again != life {
			return false
		}
		switch {
		case err == nil:
			err := a.Settle(found)
			if err != nil && a.life < a.m.gently() {
				err = a.SettleSent(found)
			}
			if err != nil {
				w.t.Errorf("%v, life %d → %d: %v", a.m, a.life, life, err)
			}
			a.life = life
			return err == nil
		case a.m.gone():
			return false
		case time.Since(began) > hangMost:
			w.t.Errorf("%s cannot be read: %v", a.name, err)
			return false
		}
	}
	return false
}

// gently is the last life that began with less than a kill leaves.
func (p *process) gently() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gentle
}

// editor lets an editor edit until the end.
func (w *world) editor(m *mount, e *workload.Editor, rng *rand.Rand) {
	for !w.over() {
		w.turn(func() {
			life, up := m.alive()
			if !up {
				return
			}
			err := e.Edit()
			if now, up := m.alive(); err != nil && now == life && up {
				w.excuse(m, "editor", err)
			}
		})
		pause(rng, 300*time.Millisecond)
	}
}
