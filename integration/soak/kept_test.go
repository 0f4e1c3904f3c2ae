//go:build linux

package soak

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"

	"memfs/integration/mounttest"
	"memfs/store"
)

// kept is every text that is or was in a store, or that lost a conflict.
func (w *world) kept() string {
	var all strings.Builder
	keep := func(text string) {
		all.WriteString(text)
		all.WriteByte('\n')
	}
	for _, r := range w.stores {
		for q := (store.VersionQuery{Full: true}); ; {
			page, err := r.client.Versions(context.Background(), q)
			if !assert.NoError(w.t, err) {
				break
			}
			for _, v := range page.Versions {
				if strings.HasPrefix(v.Path, "/pair") {
					keep(string(v.Content))
				}
			}
			if q.Page = page.Next; q.Page == "" {
				break
			}
		}
	}
	for _, state := range w.states() {
		for _, texts := range mounttest.Losers(w.t, state) {
			for _, text := range texts {
				keep(text)
			}
		}
	}
	return all.String()
}

// states are all state directories.
func (w *world) states() []string {
	var all []string
	for _, p := range w.processes {
		all = append(all, p.state)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// never are events that nothing here explains, anyFile those that speak of a
// file that nobody else changes.
var (
	never   = []string{"panic", "unknown_error", "content_lost", "protocol", "unauthorized", "store_gone", "store_archived", "store_full", "hidden", "marker", "kernel_notice", "redacted", "foreign_unmount", "no_socket", "attach_left", "dead_mount_left"}
	anyFile = []string{"conflict", "restored", "recreated", "rename_undone", "path_lost", "stray"}
)

// checkEvents looks for what must not be said.
func (w *world) checkEvents() {
	for _, p := range w.processes {
		for _, e := range p.taken() {
			mine := strings.HasPrefix(e.Path, "/w") || strings.HasPrefix(e.Path, "/bystanders/") || strings.HasPrefix(e.Path, own)
			switch {
			case e.Code == "" && !strings.HasPrefix(e.line, "memfs: "): // what the Go runtime says
				w.t.Errorf("%v said: %s", p, e.line)
			case slices.Contains(never, e.Code), mine && slices.Contains(anyFile, e.Code):
				w.t.Errorf("%v logged: %s", p, e.line)
			}
		}
	}
}

// last are the last lines that it logged, those of level info aside.
func (p *process) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, e := range p.events[max(0, len(p.events)-20):] {
		lines = append(lines, e.line)
	}
	return strings.Join(lines, "\n")
}
