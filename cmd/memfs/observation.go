package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"memfs"
	"memfs/cmd/memfs/internal/flags"
	"memfs/cmd/memfs/internal/metrics"
	"memfs/fs"
)

// observation is what can be seen of a process while it serves mounts. It
// costs nothing where nobody asked for it.
type observation struct {
	address string
	trace   bool
	// report counts for another process, which serves it.
	report bool

	metrics *metrics.Metrics // nil without an address
	server  *metrics.Server
	session *atomic.Pointer[memfs.Session]
}

func (o *observation) define(set *pflag.FlagSet) {
	flags.AddressVar(set, &o.address, "metrics-addr", "", true, "serve /metrics (Prometheus) and /healthz on this `address`; a bare port is on 127.0.0.1")
	set.BoolVar(&o.trace, "trace", false, "log every file operation, and how long it took")
}

// asked reports whether anything of it was asked for.
func (o *observation) asked() bool { return o.address != "" || o.trace }

// begin starts to answer, before there are mounts.
func (o *observation) begin(ctx context.Context, log *zap.Logger) (err error) {
	o.count()
	return o.serve(ctx, log, o.healthy)
}

// count counts, where somebody wants to know.
func (o *observation) count() {
	if o.address != "" || o.report {
		o.metrics, o.session = metrics.New(version), new(atomic.Pointer[memfs.Session])
	}
}

// serve answers who asks.
func (o *observation) serve(ctx context.Context, log *zap.Logger, healthy func() error) (err error) {
	if o.address == "" {
		return nil
	}
	if o.server, err = o.metrics.Listen(ctx, o.address, healthy); err != nil {
		return err
	}
	log.Info("metrics are served", zap.String("code", "metrics"), zap.Stringer("address", o.server.Addr()))
	return nil
}

// watch has the mounts of a session among what is told.
func (o *observation) watch(s *memfs.Session) {
	if o.metrics != nil {
		o.session.Store(s)
		o.metrics.Watch(s.Status)
	}
}

func (o *observation) end() error {
	if o.server == nil {
		return nil
	}
	return o.server.Close()
}

// healthy is nil while the mounts are served and memfs did not fail in them.
func (o *observation) healthy() error {
	if o.session.Load() == nil {
		return errors.New("the stores are being attached")
	}
	return o.unharmed()
}

// unharmed is healthy also before there are mounts.
func (o *observation) unharmed() error {
	s := o.session.Load()
	if s == nil {
		return nil
	}
	select {
	case <-s.Done():
		return errors.New("a mount is gone")
	default:
	}
	for _, status := range s.Status() {
		if err := sound(status); err != nil {
			return err
		}
	}
	return nil
}

// sound is nil while memfs did not fail in a mount.
func sound(status memfs.Status) error {
	if status.Panics == 0 {
		return nil
	}
	return fmt.Errorf("%s: memfs failed in %s", status.MountPath, count(status.Panics, "file operation", "file operations"))
}

// transport is what stands around the requests to the API; nil for nothing.
func (o *observation) transport() func(http.RoundTripper) http.RoundTripper {
	if o.metrics == nil {
		return nil
	}
	return o.metrics.Transport
}

// operations hears of every file operation; nil where nobody wants to.
func (o *observation) operations(log *zap.Logger) func(fs.Operation) {
	switch {
	case o.metrics != nil && o.trace:
		return func(op fs.Operation) { o.metrics.Operation(op); traced(log, op) }
	case o.metrics != nil:
		return o.metrics.Operation
	case o.trace:
		return func(op fs.Operation) { traced(log, op) }
	}
	return nil
}

func traced(log *zap.Logger, op fs.Operation) {
	fields := []zap.Field{zap.String("code", "trace"), zap.String("store", op.Store), zap.String("path", op.Path()), zap.Duration("took", op.Took)}
	if op.Bytes > 0 {
		fields = append(fields, zap.Int("bytes", op.Bytes))
	}
	if op.Errno != 0 {
		fields = append(fields, zap.String("errno", op.Errno.Error()))
	}
	log.Info(op.Name, fields...)
}
