package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Worker counts the sessions of a polling worker. It is safe for concurrent
// use; a nil one counts nothing.
type Worker struct {
	serving prometheus.Gauge
	items   *prometheus.CounterVec

	mu       sync.Mutex
	sessions map[string]bool
}

// NewWorker makes the metrics of a polling worker, among m's.
func (m *Metrics) NewWorker() *Worker {
	w := &Worker{
		sessions: make(map[string]bool),
		serving:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "memfs_worker_sessions", Help: "Sessions that are served now."}),
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memfs_worker_items_total", Help: "Work items by how they ended.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{"done", "failed", "died"} {
		w.items.WithLabelValues(outcome)
	}
	m.registry.MustRegister(w.serving, w.items)
	return w
}

// Begin counts a session that is being served; ended is called with what became
// of its work item: "done", "failed" (the log says why) or "died" (its process
// was killed).
func (w *Worker) Begin(session string) (ended func(outcome string)) {
	if w == nil {
		return func(string) {}
	}
	w.serving.Inc()
	w.set(session, true)
	return func(outcome string) {
		w.set(session, false)
		w.serving.Dec()
		w.items.WithLabelValues(outcome).Inc()
	}
}

// Serves reports whether a session is being served.
func (w *Worker) Serves(session string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[session]
}

func (w *Worker) set(session string, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is {
		w.sessions[session] = true
	} else {
		delete(w.sessions, session)
	}
}
