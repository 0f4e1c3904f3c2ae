package local

import (
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"time"
)

// The states of a work item.
const (
	queued   = "queued"
	starting = "starting"
	active   = "active"
	stopping = "stopping"
	stopped  = "stopped"
)

// pollingWindow is how long a poll counts in the statistics.
const pollingWindow = 30 * time.Second

// workObject is a work item as the API writes it.
type workObject struct {
	Type              string            `json:"type"`
	ID                string            `json:"id"`
	EnvironmentID     string            `json:"environment_id"`
	Data              workData          `json:"data"`
	State             string            `json:"state"`
	Secret            *string           `json:"secret"` // in the answer to a poll only
	Metadata          map[string]string `json:"metadata"`
	CreatedAt         stamp             `json:"created_at"`
	AcknowledgedAt    *stamp            `json:"acknowledged_at"`
	StartedAt         *stamp            `json:"started_at"`
	LatestHeartbeatAt *stamp            `json:"latest_heartbeat_at"`
	StopRequestedAt   *stamp            `json:"stop_requested_at"`
	StoppedAt         *stamp            `json:"stopped_at"`
}

type workData struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// workItem is one turn of a session at a worker.
type workItem struct {
	session *Session // set once
	token   string   // set once
	// Under the lock of agents.
	workObject
	claimed *time.Time // when a poll last handed it out
	ttl     time.Duration
	expires time.Time // of the lease, while a worker has it
}

// worker tells the workers that poll apart.
type worker struct{ environment, id string }

func (s *Server) routeWork(mux *http.ServeMux) {
	const all = "/v1/environments/{environment}/work"
	mux.Handle("GET "+all, s.serveAgents(environmentKey, s.listWork))
	mux.Handle("GET "+all+"/poll", s.serveAgents(environmentKey, s.pollWork))
	mux.Handle("GET "+all+"/stats", s.serveAgents(apiKey|environmentKey, s.workStats))
	mux.Handle("GET "+all+"/{work}", s.serveAgents(apiKey, s.onWork((*agents).describe)))
	mux.Handle("POST "+all+"/{work}", s.serveAgents(apiKey, s.onWork((*agents).label)))
	mux.Handle("POST "+all+"/{work}/ack", s.serveAgents(environmentKey|sessionsToken, s.onWork((*agents).ack)))
	mux.Handle("POST "+all+"/{work}/heartbeat", s.serveAgents(environmentKey|sessionsToken, s.onWork((*agents).heartbeat)))
	mux.Handle("POST "+all+"/{work}/stop", s.serveAgents(apiKey|environmentKey|sessionsToken, s.onWork((*agents).stop)))
}

// onWork makes an endpoint of what is done to one work item, under the lock and
// with all leases up to date.
func (s *Server) onWork(do func(*agents, *call, *workItem) (any, error)) endpoint {
	return func(c *call) (any, error) {
		a := s.agents
		a.mu.Lock()
		defer a.mu.Unlock()
		a.expire()
		for _, w := range a.work {
			if w.ID == c.workID() && w.EnvironmentID == c.environment() {
				if err := c.checkWork(w); err != nil {
					return nil, err
				}
				defer a.changed()
				return do(a, c, w)
			}
		}
		return nil, unknown("work", c.workID())
	}
}

// enqueue makes a work item for a session, unless it has one that goes on. The
// caller holds the lock.
func (a *agents) enqueue(x *Session) {
	if w := a.workOf(x); w != nil && w.State != stopped {
		return
	}
	a.work = append(a.work, &workItem{session: x, token: newToken(), workObject: workObject{
		Type: "work", ID: "work_" + rand.Text(), EnvironmentID: x.spec.Environment,
		Data: workData{Type: cmp.Or(x.spec.Faults.WorkType, "session"), ID: x.id}, State: queued, CreatedAt: a.now(),
	}})
	a.changed()
}

// workOf returns the newest work item of a session, or nil. The caller holds
// the lock.
func (a *agents) workOf(x *Session) *workItem {
	for _, w := range slices.Backward(a.work) {
		if w.session == x {
			return w
		}
	}
	return nil
}

// object is what may be sent after the lock is given back.
func (w *workItem) object() workObject {
	o := w.workObject
	o.Metadata = maps.Clone(o.Metadata)
	return o
}

func (a *agents) describe(_ *call, w *workItem) (any, error) { return w.object(), nil }

// label changes the metadata of an item: a nil value removes the key.
func (a *agents) label(c *call, w *workItem) (any, error) {
	var body struct {
		Metadata map[string]*string `json:"metadata"`
	}
	if err := c.decode(&body); err != nil {
		return nil, err
	}
	metadata := make(map[string]string)
	maps.Copy(metadata, w.Metadata)
	for key, value := range body.Metadata {
		if value == nil {
			delete(metadata, key)
		} else {
			metadata[key] = *value
		}
	}
	if err := checkMetadata(metadata); err != nil {
		return nil, err
	}
	w.Metadata = metadata
	return w.object(), nil
}

func (s *Server) listWork(c *call) (any, error) {
	limit, err := c.limit(false)
	if err != nil {
		return nil, err
	}
	list := "work " + c.environment()
	after, err := c.after(list)
	if err != nil {
		return nil, err
	}
	a := s.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire()
	var items []workObject
	for _, w := range slices.Backward(a.work) {
		if w.EnvironmentID == c.environment() {
			items = append(items, w.object())
		}
	}
	return pageAfter(items, limit, list, after, func(w workObject) string { return w.ID }), nil
}

// workStats counts an environment's queue.
func (s *Server) workStats(c *call) (any, error) {
	stats := struct {
		Type           string `json:"type"`
		Depth          int    `json:"depth"`
		Pending        int    `json:"pending"`
		OldestQueuedAt *stamp `json:"oldest_queued_at"`
		WorkersPolling int    `json:"workers_polling"`
	}{Type: "work_queue_stats"}
	a := s.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire()
	for _, w := range a.work {
		if w.EnvironmentID != c.environment() || w.State != queued {
			continue
		}
		if w.claimed == nil {
			stats.Depth++
		} else {
			stats.Pending++
		}
		if stats.OldestQueuedAt == nil {
			stats.OldestQueuedAt = &w.CreatedAt
		}
	}
	for who, last := range a.polled {
		if who.environment == c.environment() && a.options.Now().Sub(last) <= pollingWindow {
			stats.WorkersPolling++
		}
	}
	return stats, nil
}
