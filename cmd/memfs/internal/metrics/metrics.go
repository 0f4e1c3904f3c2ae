package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sys/unix"

	"memfs"
	"memfs/fs"
)

// Metrics are those of one process. Its methods may be called from any
// goroutine.
type Metrics struct {
	registry *prometheus.Registry

	operations *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	bytes      *prometheus.CounterVec

	requests     *prometheus.HistogramVec
	requestBytes *prometheus.CounterVec

	// status is what the mounts say; nil until there are any.
	status atomic.Pointer[func() []memfs.Status]
	// session is the label of everything; nil is none.
	session atomic.Pointer[string]
	// gatherers are what is served.
	gatherers prometheus.Gatherers
}

// New makes the metrics of a process of this version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "memfs_fuse_operation_seconds", Help: "Time to answer requests of the kernel.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 11), // 10 µs to 10 s
		}, []string{"op"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memfs_fuse_errors_total", Help: "Requests of the kernel that were answered with an errno.",
		}, []string{"op", "errno"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memfs_fuse_bytes_total", Help: "Bytes that programs read and wrote through the mounts, the kernel's cache aside.",
		}, []string{"direction"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "memfs_store_request_seconds", Help: "Time until the store's API began to answer.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2.5, 10), // 5 ms to 19 s
		}, []string{"kind", "status"}),
		requestBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memfs_store_bytes_total", Help: "Bytes of requests to the store's API and of its answers, headers aside.",
		}, []string{"direction"}),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "memfs_build_info", Help: "1, with the version of this process.", ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.operations, m.errors, m.bytes, m.requests, m.requestBytes, build, mounts{m},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gatherers = prometheus.Gatherers{prometheus.GathererFunc(m.own)}
	return m
}

// own is what this process counted.
func (m *Metrics) own() ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	if id := m.session.Load(); id != nil {
		label(families, *id)
	}
	return families, err
}

// Operation counts an answered request of the kernel.
func (m *Metrics) Operation(o fs.Operation) {
	m.operations.WithLabelValues(o.Name).Observe(o.Took.Seconds())
	if o.Errno != 0 {
		m.errors.WithLabelValues(o.Name, unix.ErrnoName(o.Errno)).Inc()
	}
	switch {
	case o.Bytes == 0:
	case o.Name == "write":
		m.bytes.WithLabelValues("written").Add(float64(o.Bytes))
	default:
		m.bytes.WithLabelValues("read").Add(float64(o.Bytes))
	}
}

// Watch has the mounts' status among the metrics from now on.
func (m *Metrics) Watch(status func() []memfs.Status) { m.status.Store(&status) }

func (m *Metrics) mounts() []memfs.Status {
	status := m.status.Load()
	if status == nil {
		return nil
	}
	return (*status)()
}
