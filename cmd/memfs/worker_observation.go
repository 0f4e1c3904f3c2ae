package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"memfs"
	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/metrics"
)

// scrapeTime bounds the asking of the processes that serve sessions.
const scrapeTime = 5 * time.Second

// observeSessions serves, at one address, what a polling worker and the
// processes of its sessions count. They are asked over the control sockets in
// dir.
func (a *app) observeSessions(o *observation, dir string) (*metrics.Worker, error) {
	o.count()
	if o.metrics == nil {
		return nil, nil
	}
	w := served{counts: o.metrics.NewWorker(), dir: dir, log: a.log}
	o.metrics.Include(w.metrics)
	return w.counts, o.serve(context.Background(), a.log, w.healthy)
}

// served are the processes that serve a worker's sessions.
type served struct {
	counts *metrics.Worker
	dir    string
	log    *zap.Logger
}

// ask finds them, as far as they answer.
func (w served) ask(ctx context.Context) []*control.Process {
	live, err := control.Processes(ctx, w.dir)
	if err != nil {
		w.log.Debug("not every memfs process answers", zap.String("code", "process_silent"), zap.Error(err))
	}
	return slices.DeleteFunc(live, func(p *control.Process) bool { return !w.counts.Serves(p.Session) })
}

// metrics are what they count, by session.
func (w served) metrics() map[string][]byte {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	encoded := make(map[string][]byte)
	for _, p := range w.ask(ctx) {
		if text, err := p.Metrics(ctx); err == nil { // one that just ends is left out
			encoded[p.Session] = text
		}
	}
	return encoded
}

// healthy is nil while memfs did not fail in one of their mounts.
func (w served) healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	for _, p := range w.ask(ctx) {
		for _, m := range p.Mounts {
			var status memfs.Status
			err := json.Unmarshal(m.Status, &status)
			if err == nil {
				err = sound(status)
			}
			if err != nil {
				return fmt.Errorf("session %s: %w", p.Session, err)
			}
		}
	}
	return nil
}

// observeItem serves what this process counts for the one session that it
// serves.
func (a *app) observeItem(o *observation, session string) error {
	o.count()
	if o.metrics != nil && o.address != "" {
		o.metrics.Label(session)
	}
	return o.serve(context.Background(), a.log, o.unharmed)
}
