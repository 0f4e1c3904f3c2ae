//go:build linux

package soak

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start starts everything.
func (w *world) start() {
	w.t.Cleanup(func() {
		w.cancel()
		for _, p := range w.processes {
			p.clean()
		}
		w.agents.Wait()
	})
	w.calm.Store(true)
	for _, p := range w.processes {
		require.NoError(w.t, os.MkdirAll(filepath.Dir(p.state), 0o700))
		require.NoError(w.t, p.start(), p.last())
	}
	w.startProber()
}

// end ends everything, and looks at what is left: nothing.
func (w *world) end() {
	w.cancel()
	w.agents.Wait()
	if w.t.Failed() {
		return
	}
	w.ask(true)
	w.mend()
	for _, p := range w.processes {
		for _, m := range p.mounts { // the guard counts all deletes of ten minutes
			code, _, stderr, err := p.run("sync", "--allow-deletes", m.path)
			assert.NoError(w.t, err)
			assert.Zero(w.t, code, stderr)
		}
		code, err := p.stop()
		assert.NoError(w.t, err)
		assert.Zero(w.t, code, "%v: %s", p, p.last())
		for _, m := range p.mounts {
			n, _, err := stacked(m.path)
			assert.NoError(w.t, err)
			assert.Zero(w.t, n, "%s is still mounted", m.path)
			assert.NoDirExists(w.t, m.path)
		}
	}
	w.checkLeft()
	for _, r := range w.stores {
		stored := w.stored(r)
		for _, m := range r.mounts {
			for _, a := range m.workers {
				want := a.Now().Sent()
				for name := range want {
					if name[len(name)-1] == '/' {
						delete(want, name)
					}
				}
				assert.Empty(w.t, difference(want, below(stored, a.name)), a.name)
			}
		}
	}
	w.checkLines()
	w.checkEvents()
}

// checkLeft looks for edits that were left. What a killed process sent may still
// be on its way, so that its replica stays, without any (R16).
func (w *world) checkLeft() {
	for _, p := range w.processes {
		code, out, stderr, err := p.run("recover", "list", "--json")
		assert.NoError(w.t, err)
		assert.Zero(w.t, code, stderr)
		var left []struct {
			Edits, Deletes []string
			Error          string
		}
		assert.NoError(w.t, json.Unmarshal([]byte(out), &left), out)
		for _, l := range left {
			assert.Empty(w.t, append(l.Edits, l.Deletes...), "%v left edits", p)
			assert.Empty(w.t, l.Error, "%v", p)
		}
	}
}
