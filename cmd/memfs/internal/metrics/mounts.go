package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"memfs"
)

// gauge is one figure of a mount, read from its status when it is asked for.
type gauge struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(memfs.Status) float64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("memfs_"+name, help, append([]string{"store", "path"}, labels...), nil)
}

func number(name, help string, value func(memfs.Status) float64) gauge {
	return gauge{describe(name, help), prometheus.GaugeValue, value}
}

func total(name, help string, value func(memfs.Status) int64) gauge {
	return gauge{describe(name, help), prometheus.CounterValue, func(s memfs.Status) float64 { return float64(value(s)) }}
}

// figures are the metrics of each mount.
var figures = []gauge{
	number("deleted_files", "Memories removed here that the store still has.", func(s memfs.Status) float64 { return float64(s.Deleted) }),
	number("held_deletes", "Deletes that the mass-delete guard holds.", func(s memfs.Status) float64 { return float64(s.Sync.Last.HeldDeletes) }),
	number("sending", "Requests to the store whose outcome is not known.", func(s memfs.Status) float64 { return float64(s.Sending) }),
	number("conflict_texts", "Texts that lost against the store and are kept.", func(s memfs.Status) float64 { return float64(s.Conflicts) }),
	number("journal_bytes", "Size of the journal.", func(s memfs.Status) float64 { return float64(s.JournalBytes) }),
	number("scratch_bytes", "Size of local-only files.", func(s memfs.Status) float64 { return float64(s.ScratchBytes) }),
	number("oldest_unsent_timestamp_seconds", "When the oldest edit was made that is not sent; 0 where all are.",
		func(s memfs.Status) float64 { return seconds(s.OldestUnsent) }),
	number("last_pass_timestamp_seconds", "When the last pass ended; 0 before the first.", func(s memfs.Status) float64 { return seconds(s.Sync.Last.Ended) }),
	number("failed_passes", "Passes that failed since one succeeded.", func(s memfs.Status) float64 { return float64(s.Sync.Failures) }),
	number("marker_ok", "1 while the marker file is right, without which nothing is synced.", func(s memfs.Status) float64 { return truth(s.MarkerOK) }),
	number("hidden_memories", "Memories with paths that no file can have.", func(s memfs.Status) float64 { return float64(s.Sync.Hidden) }),
	total("passes_total", "Passes.", func(s memfs.Status) int64 { return s.Sync.Total.Passes }),
	total("passes_failed_total", "Passes that failed.", func(s memfs.Status) int64 { return s.Sync.Total.Failed }),
	total("pushed_total", "Creates and updates that reached the store.", func(s memfs.Status) int64 { return s.Sync.Total.Pushed }),
	total("deleted_total", "Deletes that reached the store.", func(s memfs.Status) int64 { return s.Sync.Total.Deleted }),
	total("pulled_total", "Changes that came from the store.", func(s memfs.Status) int64 { return s.Sync.Total.Pulled }),
	total("conflicts_total", "Texts that lost against the store.", func(s memfs.Status) int64 { return s.Sync.Total.Conflicts }),
	total("panics_total", "File operations in which memfs itself failed.", func(s memfs.Status) int64 { return s.Panics }),
}

var (
	files   = describe("files", "Files of a mount by what became of them; each is counted once.", "state")
	blocked = describe("store_blocked", "1 while the store takes no edits for this reason.", "reason")
)

// mounts collects the figures of every mount when they are asked for.
type mounts struct{ m *Metrics }

// Describe implements prometheus.Collector.
func (c mounts) Describe(to chan<- *prometheus.Desc) {
	to <- files
	to <- blocked
	for _, g := range figures {
		to <- g.desc
	}
}

// Collect implements prometheus.Collector.
func (c mounts) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.m.mounts() {
		send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{s.StoreID, s.MountPath}, labels...)...)
		}
		for state, n := range map[string]int{"clean": s.Clean, "remote": s.Remote, "dirty": s.Dirty, "refused": s.Refused, "held": s.Held, "scratch": s.Scratch} {
			send(files, prometheus.GaugeValue, float64(n), state)
		}
		for reason, is := range map[string]bool{"archived": s.Sync.Archived, "full": s.Sync.Full, "credential": s.Sync.Frozen} {
			send(blocked, prometheus.GaugeValue, truth(is), reason)
		}
		for _, g := range figures {
			send(g.desc, g.kind, g.value(s))
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
