//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"memfs/store"
)

// equalMost is how long it may take, in clear weather, until all are equal.
const equalMost = time.Minute

// compare waits in clear weather until everything is in step, and compares it.
func (w *world) compare(round int) {
	if !w.silence() {
		return
	}
	defer w.quiet.Unlock()
	w.ask(true)
	defer w.ask(false)
	w.calm.Store(true)
	for _, p := range w.processes {
		w.renew(p)
	}
	for _, check := range []func(){w.mend, w.inStep, w.checkAgents, w.checkStates, w.checkLines, w.checkEvents, w.checkUsage} {
		if check(); w.t.Failed() {
			return
		}
	}
	w.note("round %d: all equal; requests: %v", round, w.server.tell(order{}))
}

// renew starts a process that has ended, and one whose first listing may have
// lacked a memory that it never knew: it would hear of that from its next listing,
// in ten minutes.
func (w *world) renew(p *process) {
	_, up := p.alive()
	if up && p.lacking {
		code, err := p.stop()
		w.note("%v stopped, for another listing: %d", p, code)
		assert.NoError(w.t, err)
		assert.Contains(w.t, []int{0, 6}, code, "%v", p)
		w.restart(p)
		return
	}
	if up || p.over == nil {
		return
	}
	select {
	case <-p.over:
		w.restart(p)
	default:
	}
}

// silence has all agents stand still.
func (w *world) silence() bool {
	still := make(chan struct{})
	go func() {
		w.quiet.Lock()
		close(still)
	}()
	select {
	case <-still:
		return true
	case <-time.After(hangMost):
		w.t.Errorf("an agent hangs; what memfs does is in its log")
		for _, p := range w.processes {
			p.quit()
		}
		return false
	}
}

// mend has saved again what a full disk cut off, as the remedy of held files
// says.
func (w *world) mend() {
	for _, m := range w.mounts() {
		for _, a := range m.workers {
			for range 3 {
				if w.caughtUp(a) && a.Step() == nil {
					break
				}
				w.settle(a)
			}
		}
		if !m.small {
			continue
		}
		for name := range w.tree(m) {
			at := filepath.Join(m.path, name)
			if state(at) != "held" {
				continue
			}
			text, err := os.ReadFile(at)
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			if err == nil {
				err = os.WriteFile(at, text, 0o600)
			}
			assert.NoError(w.t, err, "%s was held", at)
		}
	}
}

// inStep syncs until mounts and stores are equal.
func (w *world) inStep() {
	began := time.Now()
	for {
		var differences []string
		for _, p := range w.processes {
			for _, m := range p.mounts {
				code, _, stderr, err := p.run("sync", "--allow-deletes", m.path)
				if code != 0 || err != nil {
					differences = append(differences, fmt.Sprintf("sync m%d: %d %v %s", m.n, code, err, stderr))
				}
			}
		}
		for i, r := range w.stores {
			stored := w.stored(r)
			for _, m := range r.mounts {
				if d := difference(w.tree(m), stored); d != "" {
					differences = append(differences, fmt.Sprintf("m%d and store %d: %s", m.n, i, d))
				}
			}
		}
		if len(differences) == 0 {
			return
		}
		if time.Since(began) > equalMost || w.t.Failed() {
			w.t.Errorf("not in step after %v: %s", time.Since(began).Round(time.Second), strings.Join(differences, "\n"))
			return
		}
	}
}

// stored are the texts of a store.
func (w *world) stored(r *remote) map[string]string {
	memories, err := all(context.Background(), r.client)
	assert.NoError(w.t, err)
	texts := map[string]string{}
	for at, m := range memories {
		texts[strings.TrimPrefix(at, "/")] = string(m.Content)
	}
	return texts
}

// tree are the files of a mount that are not local only.
func (w *world) tree(m *mount) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(m.path, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, unix.ENOENT) { // a remote change emptied a directory, just now
			return nil
		}
		if err != nil || d.IsDir() || d.Name() == store.MarkerName || strings.HasSuffix(at, "~") {
			return err
		}
		text, err := os.ReadFile(at)
		if errors.Is(err, unix.ENOENT) { // a remote change, just now
			return nil
		}
		files[at[len(m.path)+1:]] = string(text)
		return err
	})
	assert.NoError(w.t, err)
	return files
}

func difference(mount, stored map[string]string) string {
	var out []string
	for name, text := range mount {
		if other, there := stored[name]; !there {
			out = append(out, fmt.Sprintf("%s is not in the store", name))
		} else if other != text {
			out = append(out, fmt.Sprintf("%s is %.60q (%d) and in the store %.60q (%d)", name, text, len(text), other, len(other)))
		}
	}
	for name := range stored {
		if _, there := mount[name]; !there {
			out = append(out, fmt.Sprintf("%s is in the store only", name))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// checkAgents compares what agents were told with what is there: in their own
// mount, and in the store.
func (w *world) checkAgents() {
	for _, r := range w.stores {
		stored := w.stored(r)
		for _, m := range r.mounts {
			for _, a := range m.workers {
				if err := a.Check(); err != nil {
					w.t.Errorf("m%d: %v", m.n, err)
				}
				want := a.Now().Sent()
				maps.DeleteFunc(want, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
				if d := difference(want, below(stored, a.name)); d != "" {
					w.t.Errorf("%s and the store: %s", a.name, d)
				}
			}
		}
		if r.writer != nil {
			want, got := map[string]string{}, below(stored, strings.Trim(own, "/"))
			for at, text := range r.writer.texts {
				switch name := strings.TrimPrefix(at, own); text {
				case "":
				case unsure:
					delete(got, name)
				default:
					want[name] = text
				}
			}
			if d := difference(want, got); d != "" {
				w.t.Errorf("what was written at the API, and the store: %s", d)
			}
		}
		n := 0
		for _, text := range below(stored, "bystanders") {
			assert.Contains(w.t, text, "nobody edits this: ")
			n++
		}
		assert.Equal(w.t, bystanders, n, "of the files that nobody edits")
	}
}

// below are the files in a directory.
func below(files map[string]string, dir string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		if rest, in := strings.CutPrefix(name, dir+"/"); in {
			out[rest] = text
		}
	}
	return out
}

// checkStates compares the status with the states of all files (R20).
func (w *world) checkStates() {
	status := w.status()
	for _, m := range w.mounts() {
		s, known := status[m.path]
		if !assert.True(w.t, known, "memfs status has no m%d", m.n) {
			continue
		}
		got := map[string]int{"clean": s.Clean, "remote": s.Remote, "dirty": s.Dirty, "refused": s.Refused, "held": s.Held, "scratch": s.Scratch}
		maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
		want := map[string]int{}
		err := filepath.WalkDir(m.path, func(at string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && path.Base(at) != store.MarkerName {
				want[state(at)]++
			}
			return err
		})
		assert.NoError(w.t, err)
		assert.Equal(w.t, want, got, "R20: m%d: %+v", m.n, s)
		assert.Zero(w.t, s.Dirty+s.Held+s.Refused+s.Deleted+s.Strays, "m%d: %+v", m.n, s)
		assert.Eventually(w.t, func() bool { n, _, err := w.waitingOf(m); return err == nil && n == "0" }, 10*time.Second, 20*time.Millisecond,
			"m%d: requests wait", m.n)
	}
}

// state is what became of a file.
func state(at string) string {
	value := make([]byte, 64)
	n, err := unix.Getxattr(at, "user.memfs.state", value)
	if err != nil {
		return err.Error()
	}
	return string(value[:n])
}

// checkLines looks for every line that an editor was told is written and nobody
// has destroyed: in the stores' histories, and among the texts that lost.
func (w *world) checkLines() {
	kept := w.kept()
	for _, m := range w.mounts() {
		for _, e := range m.editors {
			for line, name := range e.Alive() {
				if !strings.Contains(kept, line) {
					w.t.Errorf("lost: %q, to %s of m%d", strings.TrimSpace(line), name, m.n)
				}
			}
		}
	}
}

// contains is strings.Contains, whatever the case.
func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
